/** Tools that a model simulates. */
export { type SimulatorOptions, simulatedTool } from './simulatedTool.ts';
export {
  type AskSimulator,
  modelWorld,
  ruleWorld,
  type SimulatedSpec,
  type ToolWorld,
  type WorldCall,
} from './world.ts';
