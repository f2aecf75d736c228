/** Losses by name, and what a loss of your own is made of. */
export {
  type AnyLoss,
  defineLoss,
  type LossData,
  type LossDefinition,
  type OverSteps,
  type PreparedLoss,
  type Tally,
  type TargetSequence,
} from './loss.ts';
export { type LossName, losses, type NamedLoss, prepareLoss, type SettingsOf } from './losses.ts';
