/**
 * A process of its own that trains, so that its memory is that of training: for memoryRows.ts and
 * adapterRows.ts.
 *
 * `trainOnce.ts SETTINGS` prints one line of JSON: resident bytes before the policy is there, and at most;
 * milliseconds of the last step; how busy others were. The weights are read by the trainer's worker.
 */
import { readFileSync } from 'node:fs';
import { EmbeddedTrainer } from '../../model/train/trainer.ts';
import { Others } from './machine.ts';
import { LOSSES, type LossName, trainSequences } from './sequences.ts';
import { SHAPES, type ShapeName } from './shapes.ts';
import type { adapterOf } from './trainRows.ts';

export interface TrainOnce {
  readonly name: ShapeName;
  readonly path: string;
  readonly rows: number;
  readonly length: number;
  readonly steps: number;
  readonly threads: number;
  readonly loss: LossName;
  /** Train an adapter alone. */
  readonly adapter?: NonNullable<ReturnType<typeof adapterOf>>;
}

export interface Trained {
  readonly beforeBytes: number;
  readonly peakBytes: number;
  readonly ms: number;
  /** Cores that others kept busy meanwhile. */
  readonly othersCores: number;
}

function resident(field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync('/proc/self/status', 'utf8');
  return 1024 * Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]);
}

async function main(settings: TrainOnce): Promise<Trained> {
  const { name, path, rows, length, steps, threads, loss, adapter } = settings;
  const sequences = trainSequences(SHAPES[name], rows, length);
  const beforeBytes = resident('VmRSS');
  const trainer = await EmbeddedTrainer.create({
    policy: path,
    threads,
    ...(adapter ? { adapter: { adapter, publish: 'merged' } } : {}),
  });
  const others = new Others([]);
  let ms = 0;
  for (let step = 0; step < steps; step++)
    ms = (await trainer.step({ sequences, loss: LOSSES[loss], lr: 1e-4 })).ms;
  const othersCores = others.cores();
  const peakBytes = resident('VmHWM');
  await trainer.close();
  return { beforeBytes, peakBytes, ms, othersCores };
}

console.log(JSON.stringify(await main(JSON.parse(process.argv[2]!) as TrainOnce)));
