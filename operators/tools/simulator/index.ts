/** Tools that a model answers for. */
export { type SimulatorOptions, simulatedTool } from './simulatedTool.ts';
export {
  type AskSimulator,
  modelWorld,
  ruleWorld,
  type SimulatedSpec,
  type ToolWorld,
  type WorldCall,
} from './world.ts';
