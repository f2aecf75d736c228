/**
 * The trials of training: a learner on a small network of the policy's kind scores sequences, and takes a
 * step of every loss. What is compared are log-probs, losses and gradients.
 *
 * (Gradients as the optimiser's first moments hold them: after one step they are that, times one factor for
 * all.)
 */

import { draws } from '../../base/index.ts';
import { type DecoderConfig, parameterShapes } from '../config.ts';
import type { Loss, TrainSequence } from '../engine.ts';
import type { LoraAdapter, LoraFactors } from '../hf/lora.ts';
import { losses } from '../losses/losses.ts';
import { miniature, someTokens, spreadWeights } from '../miniature.ts';
import type { Device } from '../runtime/device.ts';
import type { Outcome, Trial } from '../runtime/tryOut.ts';
import { Learner, type LearnerSettings } from './learner.ts';
import { VOCABULARY_CHUNK } from './trainGraph.ts';

/** Unequal, so that there is padding; the longest reaches positions whose angles are large. */
const LENGTHS = [96, 61];

const LOSSES: readonly Loss[] = Object.entries(losses).map(([name, { trial }]) => ({
  name,
  settings: trial,
}));

/** With an adapter if one is trained: of the same rank, on the same modules. */
export function trainingTrials(
  config: DecoderConfig,
  settings: LearnerSettings,
  adapter: LoraAdapter | null,
): readonly Trial[] {
  // cut into chunks if the policy's own is
  const small = miniature(config, VOCABULARY_CHUNK + 64);
  // one set for all: a step of rate 0 changes nothing
  const trainee = {
    config: small,
    tensors: spreadWeights(small),
    adapter: adapter && smallAdapter(small, adapter),
  };
  const learner = (device: Device) => new Learner(trainee, settings, device);
  const score: Trial = {
    name: 'scoring',
    run: (device) => using(learner(device), scored),
  };
  return [
    score,
    ...LOSSES.map((loss) => ({
      name: `training (${loss.name})`,
      run: (device: Device) => using(learner(device), (one) => stepped(one, loss)),
    })),
  ];
}

async function using(
  learner: Learner,
  run: (learner: Learner) => Promise<Outcome>,
): Promise<Outcome> {
  return run(learner).finally(() => learner.close());
}

async function scored(learner: Learner): Promise<Outcome> {
  const scores = await learner.score(someTokens(learner.config, LENGTHS));
  return new Map(
    scores.flatMap(({ logProbs, entropies }, row): [string, Float32Array][] => [
      [`log-probs of sequence ${row}`, logProbs],
      [`entropies of sequence ${row}`, entropies],
    ]),
  );
}

async function stepped(learner: Learner, loss: Loss): Promise<Outcome> {
  const sequences = someTokens(learner.config, LENGTHS).map(asExample);
  const { loss: value, entropy } = await learner.step({ sequences, loss, lr: 0 });
  return new Map<string, ArrayLike<number>>([
    ['loss', [value]],
    ['entropy', [entropy ?? Number.NaN]],
    ...[...learner.optimiser.moments].map(
      ([name, { mean }]) => [`gradient of ${name}`, mean] as const,
    ),
  ]);
}

/**
 * Log-probs to compare with are about those of the policy, so that some tokens are clipped and others not.
 */
function asExample(tokens: Int32Array, row: number): TrainSequence {
  const per = (value: (place: number) => number) =>
    Float32Array.from(tokens, (_, place) => value(place));
  return {
    tokens,
    mask: Uint8Array.from(tokens, (_, place) => (place === 0 ? 0 : 1)),
    advantages: per((place) => Math.sin(place + row)),
    oldLogProbs: per((place) => -5.5 + Math.sin(3 * place)),
    refLogProbs: per((place) => -5.5 + Math.sin(5 * place)),
  };
}

/** The adapter's modules as far as the small network has them, with factors that all matter. */
function smallAdapter(config: DecoderConfig, adapter: LoraAdapter): LoraAdapter {
  const shapes = parameterShapes(config);
  const modules = new Map<string, LoraFactors>();
  for (const [module, { a, scale }] of adapter.modules) {
    const [out, width] = shapes.get(`${module}.weight`) ?? [];
    const rank = a.shape[0];
    if (out === undefined || width === undefined || rank === undefined) continue;
    const factor = (name: string, rows: number, columns: number) => {
      const stream = draws('factor', module, name);
      const data = Float32Array.from({ length: rows * columns }, (_, i) => stream.uniform(i) - 0.5);
      return { shape: [rows, columns], data };
    };
    modules.set(module, { a: factor('a', rank, width), b: factor('b', out, rank), scale });
  }
  return { ...adapter, modules };
}
