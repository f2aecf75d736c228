/**
 * What saving costs: a version before each step, with its weights alone, which every version has, or with the
 * optimiser's state too, which is written beside the step; by default not more than once in 160 s. The step is
 * the trainer's alone; a run's has its rollouts besides.
 */
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { EmbeddedTrainer } from '../../model/train/trainer.ts';
import { type AnyRow, atMost, type Bench } from '../model/bench.ts';
import { LOSSES, trainSequences } from '../model/sequences.ts';
import { SHAPES } from '../model/shapes.ts';
import { inTurns } from '../model/turns.ts';
import { folderOnDisk, median, timeMs } from '../table.ts';

/** A step of `sft` by default, with short conversations; a step of RL trains on several times as much. */
const [ROWS, LENGTH, LR] = [32, 191, 1e-6];
const GOAL = 1.05;

type Saved = 'all' | 'weights' | 'nothing';

export async function* saveRows(
  bench: Bench & { readonly path: string },
): AsyncGenerator<AnyRow[]> {
  const sequences = trainSequences(SHAPES['135M'], ROWS, LENGTH);
  const trainer = await EmbeddedTrainer.create({ policy: bench.path, threads: 1 });
  const folder = resolve(folderOnDisk('bench-save'));
  const cpuMs: Record<Saved, number[]> = { all: [], weights: [], nothing: [] };
  let version = 0;
  const side = (what: Saved) => async () => {
    const before = process.cpuUsage();
    const ms = await timeMs(async () => {
      if (what !== 'nothing')
        await trainer.save({ version: version++, folder, state: what === 'all' });
      await trainer.step({ sequences, loss: LOSSES.SFT, lr: LR });
    });
    const { user, system } = process.cpuUsage(before);
    cpuMs[what].push((user + system) / 1000);
    rmSync(folder, { recursive: true, force: true });
    return ms;
  };
  try {
    const sides = { all: side('all'), weights: side('weights'), nothing: side('nothing') };
    const { medians, note } = await inTurns(bench.quick ? 1 : 3, sides);
    const cpu = (what: Saved) => median(cpuMs[what].slice(1));
    const step = `a step of ${ROWS} x ${LENGTH + 1} tokens that saves a version, 135M`;
    const row = (what: Saved, kind: string, of: (what: Saved) => number) => {
      const pair = { ours: of(what), theirs: of('nothing') };
      const goal = what === 'weights' ? GOAL : null;
      const saved = what === 'weights' ? 'weights' : 'weights and state';
      return atMost(`${step} (${saved})${kind}`, 'no save', pair, { unit: 'ms', goal, note });
    };
    const wall = (what: Saved) => medians[what];
    yield [
      row('weights', '', wall),
      row('weights', ', processor time', cpu),
      row('all', '', wall),
      row('all', ', processor time', cpu),
    ];
  } finally {
    await trainer.close();
  }
}
