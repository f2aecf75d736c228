/**
 * Settings of what RL learns from a batch: advantages, loss, correction for lag; and the loss that they
 * describe. docs/losses.md has the formula of each and when to choose it.
 *
 * A loss brings its own settings (model/losses). Those of `clipped`, the default, are top-level, and
 * the ones that others share with it (`kl`, say) are set for all at once; its other settings are under its
 * name: `gspo.clipHigh`.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { MillraceError } from '../base/index.ts';
import {
  type AdvantageName,
  advantageEstimators,
  type LagCorrection,
} from '../model/credit/index.ts';
import type { Loss } from '../model/index.ts';
import { type LossName, losses } from '../model/losses/index.ts';
import type { TrainerOptions } from '../sinks/index.ts';

/** The losses over rollouts. */
type PolicyLoss = {
  [N in LossName]: (typeof losses)[N]['data'] extends 'rollouts' ? N : never;
}[LossName];
type Clipped = (typeof losses)['clipped']['settings']['shape'];
type Other = Exclude<PolicyLoss, 'clipped'>;
/** Settings that only this loss has, or has differently. */
type Own<Shape extends z.ZodRawShape> = z.ZodPrefault<
  z.ZodObject<Pick<Shape, Exclude<keyof Shape, Shared>>>
>;
type Groups = { [N in Other]: Own<(typeof losses)[N]['settings']['shape']> };

const shared = [
  'aggregation',
  'kl',
  'entropyCoefficient',
] as const satisfies readonly (keyof Clipped)[];
type Shared = (typeof shared)[number];

const advantageNames = Object.keys(advantageEstimators) as [AdvantageName, ...AdvantageName[]];
const lossNames = Object.entries(losses).flatMap(([name, { data }]) =>
  data === 'rollouts' ? [name] : [],
) as [PolicyLoss, ...PolicyLoss[]];

const groups = Object.fromEntries(
  lossNames
    .filter((name) => name !== 'clipped')
    .map((name) => {
      const fields = Object.entries(losses[name].settings.shape);
      const own = fields.filter(([key]) => !(shared as readonly string[]).includes(key));
      return [name, z.object(Object.fromEntries(own)).prefault({})];
    }),
) as unknown as Groups;

/**
 * What is minimised over rollouts, for a job's schema: the advantage, the loss, and the settings of every
 * loss (docs/losses.md).
 */
export const lossSettings = z.object({
  advantage: z
    .enum(advantageNames)
    .default('grpo')
    .describe('how a rollout is compared with the others of its group'),
  searchActions: z
    .boolean()
    .default(false)
    .describe('toolpo: count tool searches as actions, like calls and folds'),
  loss: z.enum(lossNames).default('clipped').describe('loss on rollouts'),
  ...losses.clipped.settings.shape,
  ...groups,
  lagCorrection: z
    .enum(['none', 'decoupled', 'truncated'])
    .default('none')
    .describe('importance weights for rollouts of an older version (with lagMax above 0)'),
  lagCap: z
    .number()
    .min(1)
    .default(2)
    .describe(
      'maximum importance weight; a token above it is dropped (decoupled) or clipped (truncated)',
    ),
});

/** `lossSettings` with all defaults filled in. */
export type LossSettings = z.infer<typeof lossSettings>;

/** The loss over rollouts. Fails with code `NO_LOSS` if a setting is set that this loss does not use. */
export function policyLossOf(settings: LossSettings): Loss {
  const { loss: name } = settings;
  const fields = Object.keys(losses[name].settings.shape);
  const top = name === 'clipped' ? fields : [name, ...shared.filter((key) => fields.includes(key))];
  const values: Readonly<Record<string, unknown>> = settings;
  const idle = lossKeys.find(
    (key) => !top.includes(key) && !isDeepStrictEqual(values[key], defaults[key]),
  );
  if (idle !== undefined)
    throw new MillraceError(
      'NO_LOSS',
      `loss ${name} does not use ${idle}; its settings are ${top.join(', ')}`,
    );
  const given = name === 'clipped' ? values : { ...values, ...settings[name] };
  return { name, settings: Object.fromEntries(fields.map((key) => [key, given[key]])) };
}

/** The settings that any loss uses, and their defaults. */
const lossKeys = [...Object.keys(losses.clipped.settings.shape), ...Object.keys(groups)];
const defaults: Readonly<Record<string, unknown>> = lossSettings.parse({});

/**
 * What the trainer takes from these settings. `score` takes the rest, `advantageEstimators[advantage].group`.
 */
export function policyTraining(
  settings: LossSettings,
): Pick<TrainerOptions, 'losses' | 'whiten' | 'searchActions' | 'lagCorrection'> {
  return {
    losses: { policy: policyLossOf(settings) },
    whiten: advantageEstimators[settings.advantage].whiten,
    searchActions: settings.searchActions,
    lagCorrection: lagCorrectionOf(settings),
  };
}

function lagCorrectionOf({ lagCorrection: kind, lagCap: cap }: LossSettings): LagCorrection | null {
  return kind === 'none' ? null : { kind, cap };
}
