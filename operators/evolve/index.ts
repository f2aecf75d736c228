/** The flywheel's actions on trajectories. */
export type { ActionContext, AskAs, EvolveAction } from './action.ts';
export { defaultActions } from './actions.ts';
export type { FlywheelOptions } from './context.ts';
export { rerollout } from './enhance.ts';
export type { EvolvedTrajectory, FlywheelRun, Grow, TurnReport } from './flywheel.ts';
export type { Hints } from './hints.ts';
export type { Complete, CompletionRequest, Models, Role } from './models.ts';
export { loadPrompts, type Prompts } from './prompts.ts';
