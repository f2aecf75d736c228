/**
 * `child.ts SETTINGS`: trains two steps, saves, and prints this process's peak memory in bytes.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedTrainer } from '../../model/train/trainer.ts';
import { trainSequences } from '../model/sequences.ts';
import { SHAPES, type ShapeName } from './shapes.ts';

export interface Settings {
  readonly shape: ShapeName;
  /** A policy file, in a folder that the save goes into. */
  readonly folder: string;
  readonly kind: 'full' | 'merged' | 'adapter';
  readonly recompute: boolean;
  readonly rows: number;
  readonly length: number;
}

async function main({ shape, folder, kind, recompute, rows, length }: Settings): Promise<number> {
  const adapter = { rank: 8, alpha: 16, seed: 1 };
  const trainer = await EmbeddedTrainer.create({
    policy: join(folder, `${shape}.safetensors`),
    threads: 2,
    settings: { recompute },
    ...(kind === 'full' ? {} : { adapter: { adapter, publish: kind } }),
  });
  const sequences = trainSequences(SHAPES[shape], rows, length);
  for (let step = 0; step < 2; step++)
    await trainer.step({ sequences, loss: { name: 'clipped' }, lr: 1e-5 });
  await trainer.save({ version: 1, folder: join(folder, 'saved') });
  await trainer.close();
  const status = readFileSync('/proc/self/status', 'utf8');
  return 1024 * Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]);
}

console.log(await main(JSON.parse(process.argv[2]!) as Settings));
