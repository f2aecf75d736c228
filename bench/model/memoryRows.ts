/**
 * Peak memory of a train step of 48M parameters, each side in a new process.
 *
 * Counted from what the process holds before there is a policy, so that neither side pays for its runtime:
 * weights, gradients, optimiser and activations. The whole processes are compared too.
 */
import { type AnyRow, atMost, type Bench, weightsFolder } from './bench.ts';
import { trainOnce } from './child.ts';
import { Yardstick } from './python.ts';
import { trainSequences } from './sequences.ts';
import { SHAPES } from './shapes.ts';

const [ROWS, LENGTH, STEPS, THREADS] = [8, 128, 3, 2];

interface Peaks {
  readonly beforeBytes: number;
  readonly peakBytes: number;
}

export async function memoryRows(bench: Bench): Promise<AnyRow[]> {
  const path = await weightsFolder(bench, '48M');
  const what = `peak memory of a train step 48M ${ROWS}x${LENGTH}, SFT`;
  const against = 'PyTorch eager';
  if (process.platform !== 'linux')
    return [{ what, against, reason: 'the system does not say what a process held at most' }];
  const torch = Yardstick.start('train', ['torch', 'transformers']);
  if (!(torch instanceof Yardstick)) return [{ what, against, reason: torch.reason }];
  const theirs = await theirPeaks(torch, path).finally(() => torch.close());
  const shape = { rows: ROWS, length: LENGTH, steps: STEPS, threads: THREADS };
  const ours = trainOnce({ name: '48M', path, ...shape, loss: 'SFT' });
  const row = (kind: string, of: (peaks: Peaks) => number, goal: number | null) => {
    const pair = { ours: of(ours) / 2 ** 20, theirs: of(theirs) / 2 ** 20 };
    return atMost(`${what}${kind}`, against, pair, { unit: 'MiB', goal, note: '' });
  };
  return [
    row('', ({ beforeBytes, peakBytes }) => peakBytes - beforeBytes, 1),
    row(', whole process', ({ peakBytes }) => peakBytes, null),
  ];
}

async function theirPeaks(torch: Yardstick, path: string): Promise<Peaks> {
  const memory = () => torch.ask<{ readonly now: number; readonly peak: number }>('memory');
  const { now } = await memory();
  await torch.ask('open', { path, threads: THREADS, lr: 1e-4, compile: false });
  const sequences = trainSequences(SHAPES['48M'], ROWS, LENGTH);
  await torch.ask('batch', {
    name: 'memory',
    tokens: sequences.map(({ tokens }) => [...tokens]),
    advantages: sequences.map(({ advantages }) => [...advantages]),
    old: sequences.map(({ oldLogProbs }) => [...oldLogProbs]),
  });
  for (let step = 0; step < STEPS; step++)
    await torch.ask('step', { batch: 'memory', loss: 'sft', rows: ROWS });
  return { beforeBytes: now, peakBytes: (await memory()).peak };
}
