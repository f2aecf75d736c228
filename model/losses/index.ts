/** Losses by name, and what a loss of one's own is made of. */
export { type AnyLoss, type LossData, type LossDefinition, type OverSteps, type PreparedLoss, type Tally, type TargetSequence, defineLoss } from './loss.ts';
export { type LossName, type NamedLoss, type SettingsOf, losses, prepareLoss } from './losses.ts';
