/**
 * A simulated trainer. Its weights are a digest of everything that it was ever trained on, in order, so two
 * runs that end with the same weights have made the same steps from the same sequences. A step takes as long
 * as is drawn for it; what is saved goes to the simulated disk, the optimiser's state now and then only
 * beside the next step, as a trainer may.
 */
import { createHash } from 'node:crypto';
import { type Draws, MillraceError } from '../../base/index.ts';
import type { TrainBatch, TrainerEngine } from '../../model/index.ts';
import { type Disk, digestOf, filesOf } from './disk.ts';
import type { Life } from './life.ts';

export interface TrainerOptions {
  readonly life: Life;
  readonly disk: Disk;
  readonly draws: Draws;
  /** Median of a step. */
  readonly stepMs: number;
}

export function simulatedTrainer({ life, disk, draws, stepMs }: TrainerOptions): TrainerEngine {
  let weights = '';
  let state = '';
  let steps = 0;
  let unwritten: (() => void) | null = null;
  const takes = async (name: string, ms: number): Promise<void> => {
    await life.clock.sleep(ms * (0.5 + draws.under(name, steps).uniform(0)));
    steps += 1;
  };
  const written = (): void => {
    unwritten?.();
    unwritten = null;
  };
  return {
    async score(sequences) {
      await takes('score', stepMs / 4);
      return sequences.map(({ length }) => ({ logProbs: new Float32Array(length).fill(-0.5) }));
    },
    async step(batch) {
      life.passes('step');
      await takes('step', stepMs);
      written();
      const digest = batchDigest(batch);
      weights = digestOf(`${weights} ${state} ${digest}`);
      state = digestOf(`${state} ${digest}`);
      life.passes('stepped');
      const tokens = batch.sequences.reduce((sum, sequence) => sum + sequence.tokens.length, 0);
      const numbers = { 'logprob/diff_mean': 0, 'logprob/diff_max': 0 };
      return {
        ...{ loss: 0.5, gradNorm: 1, applied: true, entropy: 0.25, numbers, tokens },
        ms: stepMs,
      };
    },
    async save({ version, state: keeps = true, expected }) {
      life.passes('save');
      await takes('save', stepMs / 8);
      written();
      const files = filesOf(version);
      const digests = { weights: digestOf(weights), state: digestOf(state) };
      for (const what of ['weights', 'state'] as const) {
        if ((expected?.[what] ?? digests[what]) === digests[what]) continue;
        throw new MillraceError('DIGEST', `${files[what]} would get another digest`);
      }
      if (!life.dead) disk.write(files.weights, weights);
      life.passes('saved');
      const text = state;
      const write = (): void => {
        if (!life.dead) disk.write(files.state, text);
      };
      if (keeps) {
        unwritten = write;
        if (draws.under('beside', version).uniform(0) < 0.5) written();
      }
      return {
        weights: { version, uri: files.weights, digest: digests.weights },
        state: keeps ? { version, uri: files.state, digest: digests.state } : null,
        bytes: weights.length,
      };
    },
    async restore(saved, use) {
      life.passes('restore');
      await takes('restore', stepMs / 8);
      written();
      const held = disk.read(saved.weights);
      const optimiser = use === 'score' || saved.state === null ? '' : disk.read(saved.state);
      weights = held;
      state = optimiser;
    },
    close: async () => written(),
  };
}

function batchDigest({ sequences, loss, lr }: TrainBatch): string {
  const hash = createHash('sha256').update(JSON.stringify({ loss, lr }));
  for (const { tokens, mask, advantages, oldLogProbs } of sequences) {
    for (const values of [tokens, mask, advantages, oldLogProbs]) {
      hash.update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    }
  }
  return hash.digest('hex');
}
