/** `trainer.kind=tinker`: a training service of the Tinker API (docs/tinker.md). */
import { z } from 'zod';
import { addressSetting, TRAINING_SERVICE } from '../../base/http/index.ts';
import { MillraceError, placeSetting } from '../../base/index.ts';
import { adamDefaults, TinkerTrainer } from '../../model/tinker/index.ts';
import { embeddedTrainer } from './embeddedTrainer.ts';
import type { TrainerKind } from './places.ts';

const settings = {
  url: placeSetting(
    addressSetting(TRAINING_SERVICE)
      .default('')
      .describe('tinker: URL of the service, such as http://host:8000'),
  ),
  keyEnv: placeSetting(
    z
      .string()
      .default('')
      .describe('tinker: environment variable that holds its API key; empty = none'),
  ),
  baseModel: placeSetting(
    z
      .string()
      .default('')
      .describe('tinker: name of the policy on the service; empty = that of `policy`'),
  ),
  rank: z
    .number()
    .int()
    .nonnegative()
    .default(8)
    .describe('tinker: rank of the low-rank adapter; 0 = train all weights'),
  waitSeconds: placeSetting(
    z
      .number()
      .nonnegative()
      .default(600)
      .describe('tinker: how long to wait for the service if it does not answer'),
  ),
  reduction: z
    .enum(['try', 'sum', 'sequence-mean'])
    .default('try')
    .describe('tinker: how the service sums losses; try = find out at the start'),
  gradClipNorm: z
    .number()
    .nonnegative()
    .default(0)
    .describe('tinker: norm that the service clips gradients to; 0 = no clipping'),
  publish: z
    .enum(['adapter', 'state'])
    .default('adapter')
    .describe(
      'tinker: what engines load: a file of the run with the adapter (with rank=0, all weights), or the state in the service (engine.server=tinker)',
    ),
  weightDecay: embeddedTrainer.settings.weightDecay,
};

/** A trainer on a service. Fails with code `USAGE` without its address. */
export const tinkerTrainer: TrainerKind<typeof settings> = {
  settings,
  async open(chosen, { policy, policyName, seed, clock, print, patienceMs }) {
    const { url, keyEnv, baseModel, rank, waitSeconds, reduction, publish } = chosen;
    if (url === '') {
      throw new MillraceError(
        'USAGE',
        'trainer.kind=tinker needs the URL of the service: --set trainer.url=http://host:8000',
      );
    }
    print(`testing how ${url} trains; this takes minutes if the service has to load or compile`);
    return TinkerTrainer.create({
      ...{ url, keyEnv, policy, rank, seed, publish, clock, print },
      baseModels: baseModel === '' ? [policyName, policy] : [baseModel],
      awayMs: Math.min(waitSeconds * 1000, patienceMs),
      reduction: reduction === 'try' ? null : reduction,
      adam: {
        ...adamDefaults,
        weightDecay: chosen.weightDecay,
        gradNormMax: chosen.gradClipNorm,
      },
    });
  },
};
