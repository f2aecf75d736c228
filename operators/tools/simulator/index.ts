/** Tools that a model answers for. */
export { type SimulatorOptions, simulatedTool } from './simulatedTool.ts';
export { type AskSimulator, type SimulatedSpec, type ToolWorld, type WorldCall, modelWorld, ruleWorld } from './world.ts';
