/**
 * Learning-rate schedules as a factor on the configured rate (ARPO reference §7.7).
 */

export interface ConstantSchedule {
  readonly kind: 'constant';
  readonly warmupSteps: number;
}

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
