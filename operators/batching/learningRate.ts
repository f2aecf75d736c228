/**
 * Learning-rate schedules as a factor on the configured rate (ARPO reference §7.7), and rates that follow a
 * round.
 */
import type { Batch } from '../../topics/index.ts';

/** A linear warm-up to factor 1, which then stays. Lengths in optimiser steps. */
export interface ConstantSchedule {
  readonly kind: 'constant';
  readonly warmupSteps: number;
}

/** A linear warm-up to factor 1, then a cosine down to `minRatio`. Lengths in optimiser steps. */
export interface CosineSchedule {
  readonly kind: 'cosine';
  readonly warmupSteps: number;
  readonly totalSteps: number;
  /** The factor never falls below this; 0 by default. */
  readonly minRatio?: number;
  /** Waves after the warm-up; half a wave by default. */
  readonly cycles?: number;
}

/** The factor at `step` (from 0): a linear warm-up, then constant or a cosine. */
export function learningRateFactor(
  schedule: ConstantSchedule | CosineSchedule,
  step: number,
): number {
  const { warmupSteps } = schedule;
  const warmup = step / Math.max(1, warmupSteps);
  if (schedule.kind === 'constant') return step < warmupSteps ? warmup : 1;
  const { totalSteps, minRatio = 0, cycles = 0.5 } = schedule;
  if (step < warmupSteps) return minRatio + (1 - minRatio) * warmup;
  const progress = (step - warmupSteps) / Math.max(1, totalSteps - warmupSteps);
  const wave = Math.cos(Math.PI * cycles * 2 * progress);
  return Math.max(minRatio, (wave * (1 - minRatio)) / 2 + (1 + minRatio) / 2);
}

/** The learning rate within one round of fine-tuning or of preferences. */
export interface RoundRateOptions {
  /** The highest rate. */
  readonly lr: number;
  /** After the warm-up: `cosine` falls to `minRatio`, `constant` stays. */
  readonly schedule: 'constant' | 'cosine';
  /** Share of the round's steps over which the rate rises; a fraction of a step counts as one. */
  readonly warmupRatio: number;
  /** For `cosine`: the factor at the end; 0 by default. */
  readonly minRatio?: number;
  /**
   * `repaired` (default): a step takes the factor at its middle. `reference`: at its start, as trainers on
   * torch do, so that after a warm-up's beginning the first step has rate 0 and teaches nothing.
   */
  readonly mode?: 'repaired' | 'reference';
}

/**
 * The rate of a batch by its place in its round. A batch whose round has no known length gets `lr` itself.
 */
export function roundRate(options: RoundRateOptions): (batch: Batch) => number {
  const { lr, schedule: kind, warmupRatio, minRatio = 0, mode = 'repaired' } = options;
  return ({ index, of: totalSteps }) => {
    if (totalSteps === 0) return lr;
    const warmupSteps = Math.ceil(totalSteps * warmupRatio);
    const step = mode === 'reference' ? index : index + 0.5;
    return lr * learningRateFactor({ kind, warmupSteps, totalSteps, minRatio }, step);
  };
}
