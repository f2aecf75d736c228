/**
 * Settings of what RL learns from a batch: advantages, policy loss, correction for lag; and the loss that they say.
 * docs/losses.md has the formula of each and why one would choose it.
 */
import { z } from 'zod';
import { type AdvantageName, advantageEstimators } from '../model/credit/estimators.ts';
import type { LagCorrection } from '../model/credit/lagCorrection.ts';
import type { LossOf, TrainerOptions } from '../sinks/trainer.ts';

const advantageNames = Object.keys(advantageEstimators) as [AdvantageName, ...AdvantageName[]];

export const lossSettings = z.object({
  advantage: z
    .enum(advantageNames)
    .default('grpo')
    .describe('how a rollout is judged against the others'),
  clipLow: z.number().positive().default(0.2),
  clipHigh: z.number().positive().default(0.2),
  clipC: z.number().gt(1).default(3).describe('dual clip: most that a negative advantage costs'),
  aggregation: z
    .enum(['token-mean', 'seq-mean-token-mean', 'seq-mean-token-sum', 'seq-mean-token-sum-norm'])
    .default('token-mean')
    .describe('how token losses become one'),
  kl: z
    .object({
      kind: z.enum(['k1', 'abs', 'k2', 'k3']).default('k3').describe('estimator of the KL'),
      coefficient: z
        .number()
        .nonnegative()
        .default(0)
        .describe('strength of the KL to the first policy; 0 = none'),
    })
    .prefault({}),
  entropyCoefficient: z
    .number()
    .nonnegative()
    .default(0)
    .describe('strength of the entropy bonus; 0 = none'),
  aepo: z
    .object({
      clipping: z
        .boolean()
        .default(false)
        .describe('tokens clipped from above keep the gradient of the bound'),
      advantageWeight: z
        .number()
        .nonnegative()
        .default(0)
        .describe('how much more unsure tokens weigh; the method has 0.2'),
    })
    .prefault({}),
  lagCorrection: z
    .enum(['none', 'decoupled', 'truncated'])
    .default('none')
    .describe('importance weights for rollouts of an older version (lagMax above 0)'),
  lagCap: z
    .number()
    .min(1)
    .default(2)
    .describe(
      'largest importance weight; above it a token is left out (decoupled) or held (truncated)',
    ),
});

export type LossSettings = z.infer<typeof lossSettings>;

/** The policy loss; terms of strength 0 are left out, and with them what they would cost. */
export function policyLossOf(settings: LossSettings): LossOf<'policy'> {
  const { clipLow, clipHigh, clipC, aggregation, kl, entropyCoefficient, aepo } = settings;
  return {
    ...{ kind: 'policy', clipLow, clipHigh, clipC, aggregation },
    ...(aepo.clipping || aepo.advantageWeight > 0 ? { entropyBalance: aepo } : {}),
    ...(kl.coefficient > 0 ? { kl } : {}),
    ...(entropyCoefficient > 0 ? { entropyCoefficient } : {}),
  };
}

/** What the trainer takes of these settings. `score` takes the other half, `advantageEstimators[advantage].group`. */
export function policyTraining(
  settings: LossSettings,
): Pick<TrainerOptions, 'losses' | 'whiten' | 'lagCorrection'> {
  return {
    losses: { policy: policyLossOf(settings) },
    whiten: advantageEstimators[settings.advantage].whiten,
    lagCorrection: lagCorrectionOf(settings),
  };
}

function lagCorrectionOf({ lagCorrection: kind, lagCap: cap }: LossSettings): LagCorrection | null {
  return kind === 'none' ? null : { kind, cap };
}
