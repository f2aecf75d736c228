/** The learning rate of `calibrate`: a number, or by optimiser step, with changes during the run. */
import { byStep } from '../../operators/batching/index.ts';
import type { TrainerOptions } from '../../sinks/index.ts';
import type { MethodPlace } from '../method.ts';
import type { CalibrateSettings } from './settings.ts';

/** A number, or a function of the batch being trained. */
export function policyRate(
  { lr, lrSteps }: CalibrateSettings,
  live: MethodPlace['live'],
): TrainerOptions['lr'] {
  if (live === undefined && lrSteps.length === 0) return lr;
  return ({ version, step }) => {
    const now = { lr, lrSteps, ...live?.at(version) };
    return byStep(now.lrSteps, step) ?? now.lr;
  };
}
