/**
 * Peak memory of train steps, each side in a new process.
 *
 * Counted from what the process holds before there is a policy, so that neither side pays for its runtime:
 * weights, gradients, optimiser and activations. The whole processes are compared too.
 */
import { type AnyRow, atMost, type Bench, weightsFolder } from './bench.ts';
import { trainOnce } from './child.ts';
import { Yardstick } from './python.ts';
import { trainSequences } from './sequences.ts';
import { SHAPES, type ShapeName } from './shapes.ts';
import { adapterOf } from './trainRows.ts';

const [STEPS, THREADS] = [3, 2];

export interface MemorySetting {
  readonly name: ShapeName;
  /** Hugging Face folder. */
  readonly path: string;
  readonly rows: number;
  readonly length: number;
  /** Of a low-rank adapter over all projections; without it all weights are trained. */
  readonly rank?: number;
}

interface Peaks {
  readonly beforeBytes: number;
  readonly peakBytes: number;
}

export async function memoryRows(bench: Bench): Promise<AnyRow[]> {
  const path = await weightsFolder(bench, '48M');
  return peakRows({ name: '48M', path, rows: 8, length: 128 });
}

/** The peak of three steps of cross-entropy beside PyTorch's, with and without what a process has anyway. */
export async function peakRows(setting: MemorySetting): Promise<AnyRow[]> {
  const { name, path, rows, length, rank } = setting;
  const trained = rank === undefined ? 'a train step' : `a LoRA r=${rank} step`;
  const what = `peak memory of ${trained} ${name} ${rows}x${length}, SFT`;
  const against = 'PyTorch eager';
  if (process.platform !== 'linux')
    return [{ what, against, reason: 'the system does not say what a process held at most' }];
  const modules = [
    'torch',
    'transformers',
    ...(rank === undefined ? [] : (['peft'] as const)),
  ] as const;
  const torch = Yardstick.start('train', modules);
  if (!(torch instanceof Yardstick)) return [{ what, against, reason: torch.reason }];
  const theirs = await theirPeaks(torch, setting).finally(() => torch.close());
  const shape = { name, path, rows, length, steps: STEPS, threads: THREADS };
  const adapter = adapterOf(rank);
  const ours = trainOnce({ ...shape, loss: 'SFT', ...(adapter === null ? {} : { adapter }) });
  const row = (kind: string, of: (peaks: Peaks) => number, goal: number | null) => {
    const pair = { ours: of(ours) / 2 ** 20, theirs: of(theirs) / 2 ** 20 };
    return atMost(`${what}${kind}`, against, pair, { unit: 'MiB', goal, note: '' });
  };
  return [
    row('', ({ beforeBytes, peakBytes }) => peakBytes - beforeBytes, 1),
    row(', whole process', ({ peakBytes }) => peakBytes, null),
  ];
}

async function theirPeaks(torch: Yardstick, setting: MemorySetting): Promise<Peaks> {
  const { name, path, rows, length, rank = null } = setting;
  const memory = () => torch.ask<{ readonly now: number; readonly peak: number }>('memory');
  const { now } = await memory();
  await torch.ask('open', { path, threads: THREADS, lr: 1e-4, compile: false, rank });
  const sequences = trainSequences(SHAPES[name], rows, length);
  await torch.ask('batch', {
    name: 'memory',
    tokens: sequences.map(({ tokens }) => [...tokens]),
    advantages: sequences.map(({ advantages }) => [...advantages]),
    old: sequences.map(({ oldLogProbs }) => [...oldLogProbs]),
  });
  for (let step = 0; step < STEPS; step++)
    await torch.ask('step', { batch: 'memory', loss: 'sft', rows });
  return { beforeBytes: now, peakBytes: (await memory()).peak };
}
