/**
 * A trainer whose weights are a digest of everything that it was ever trained on, in order: two runs that end
 * with the same digest have made the same steps from the same sequences with the same optimiser state.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { MillraceError } from '../../base/index.ts';
import { localFiles } from '../../model/checkpoints/local.ts';
import type {
  Checkpoint,
  TrainBatch,
  TrainerCheckpoint,
  TrainerEngine,
} from '../../model/engine.ts';

export interface FakeTrainer extends TrainerEngine {
  /** Batches of every step made, in order. */
  readonly steps: readonly TrainBatch[];
  /** Token lists of every `score`, in order. */
  readonly scores: readonly (readonly Int32Array[])[];
  /** What every `restore` was given, in order. */
  readonly restores: readonly Restored[];
}

export interface Restored extends TrainerCheckpoint {
  readonly use: 'train' | 'score';
}

export interface FakeTrainerOptions {
  /** Awaited at the beginning of every call. */
  readonly before?: (call: 'step' | 'score' | 'save' | 'restore') => Promise<void>;
  /**
   * Mean difference of its log-probs from the recorded ones, by the number of the call of `step`, from 0; 0
   * when left out.
   */
  readonly apart?: (call: number) => number;
  /** What every step reports as gone forward only; not reported when left out. */
  readonly forwardOnly?: number;
  /** States are written at the beginning of the next call but `score`, as beside it. */
  readonly beside?: boolean;
  /** The entropy of every token after so many steps; not given by `score` when left out. */
  readonly entropy?: (steps: number) => number;
  /** Its steps give other bits from then on. */
  readonly elsewhere?: boolean;
}

export function sha256(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex');
}

function digestOf({ sequences, loss, lr }: TrainBatch): string {
  const bytes = sequences
    .flatMap(({ tokens, mask, advantages, oldLogProbs, refLogProbs, importance }) => [
      ...[tokens, mask, advantages, oldLogProbs],
      ...[refLogProbs ?? [], importance ?? []].map((values) => Float32Array.from(values)),
    ])
    .map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength));
  return sha256(JSON.stringify({ loss, lr }), ...bytes);
}

/** Log-probs between -1 and 0 that identify the weights and the tokens so far. */
function logProbsOf(weights: string, tokens: Int32Array): Float32Array {
  return Float32Array.from(tokens, (_, place) => {
    if (place === 0) return 0;
    return (
      -Number.parseInt(sha256(weights, tokens.slice(0, place + 1).join()).slice(0, 4), 16) / 65536
    );
  });
}

const plainDigest = (text: string): string => createHash('sha256').update(text).digest('hex');

async function read({ uri, digest }: Checkpoint): Promise<string> {
  const text = await readFile(uri, 'utf8');
  if (digest !== null && digest !== plainDigest(text)) throw new Error(`${uri}: another digest`);
  return text;
}

export function fakeTrainer({
  before,
  apart = () => 0,
  forwardOnly,
  beside = false,
  entropy,
  elsewhere = false,
}: FakeTrainerOptions = {}): FakeTrainer {
  const steps: TrainBatch[] = [];
  const scores: (readonly Int32Array[])[] = [];
  const restores: Restored[] = [];
  let weights = '';
  let optimiser = '';
  /** Steps in the weights, if none was left out. */
  let made = 0;
  let unwritten = async (): Promise<void> => undefined;
  const written = async (): Promise<void> => {
    await unwritten();
    unwritten = async () => undefined;
  };
  return {
    steps,
    scores,
    restores,
    async score(sequences) {
      await before?.('score');
      scores.push(sequences);
      const entropies = (tokens: Int32Array) =>
        entropy && { entropies: new Float32Array(tokens.length).fill(entropy(made)) };
      return sequences.map((tokens) => ({
        logProbs: logProbsOf(weights, tokens),
        ...entropies(tokens),
      }));
    },
    async step(batch) {
      await before?.('step');
      await written();
      if (batch.sequences.length === 0) throw new Error('a batch without sequences');
      const digest = elsewhere ? sha256(digestOf(batch)) : digestOf(batch);
      steps.push(batch);
      weights = sha256(weights, optimiser, digest);
      optimiser = sha256(optimiser, digest);
      made += 1;
      const tokens = batch.sequences.reduce((sum, sequence) => sum + sequence.tokens.length, 0);
      return {
        loss: 0.5,
        gradNorm: 1,
        applied: true,
        entropy: 0.25,
        numbers: {
          'clip/fraction': 0.125,
          'kl/behaviour': 0.01,
          'logprob/diff_mean': apart(steps.length - 1),
          'logprob/diff_max': batch.sequences.length,
        },
        tokens,
        ...(forwardOnly === undefined ? {} : { forwardOnly }),
        ms: 10,
      };
    },
    async save(target) {
      await before?.('save');
      await written();
      const { version, state, expected } = target;
      const files = localFiles(target);
      const digests = { weights: plainDigest(weights), state: plainDigest(optimiser) };
      for (const what of ['weights', 'state'] as const) {
        if ((expected?.[what] ?? digests[what]) === digests[what]) continue;
        throw new MillraceError('DIGEST', `${files[what]} would get another digest`);
      }
      await mkdir(target.folder, { recursive: true });
      await writeFile(files.weights, weights);
      const kept = optimiser;
      if (state !== false) unwritten = () => writeFile(files.state, kept);
      if (!beside) await written();
      return {
        weights: { version, uri: files.weights, digest: digests.weights },
        state: state === false ? null : { version, uri: files.state, digest: digests.state },
        bytes: weights.length,
      };
    },
    async restore(saved, use) {
      await before?.('restore');
      await written();
      restores.push({ ...saved, use });
      const { state } = saved;
      weights = await read(saved.weights);
      made = saved.weights.version;
      optimiser = use === 'score' || state === null ? '' : await read(state);
    },
    close: written,
  };
}
