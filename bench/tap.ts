/**
 * What a tap costs the job it watches: `npm run bench:tap`.
 *
 * One flow, from questions through rollouts of 10 KB to their scores, runs in turns on two embedded logs, of
 * which one is followed by `millrace tap '…*' -f -o ndjson` in another process. Before the next turn the tap
 * has told that it has read everything, so it does nothing while the other log is worked on. `paced` gives
 * each rollout a service time, as a model does; `flat out` is bound by encoding and commits, and there the
 * tap competes for the machine. The processor time of the job's own process is told beside its rate: it says
 * what a tap costs where the machine has room for both.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { openSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { benchmark } from './options.ts';
import { folderOnDisk, pause, print, type Row } from './table.ts';
import { openWatched, paced, pairs, type Work } from './watched.ts';

const { json } = benchmark(
  'npm run bench:tap',
  `The rate of a job whose topics are all followed by a tap in another process, beside the same job
without one: where each rollout takes time, as with a model, and flat out.`,
)
  .parse()
  .opts<{ json: boolean }>();

const TURNS = 15;
const flatOut: Work = {
  name: 'flat out',
  records: 1_000,
  serviceMs: 0,
  concurrency: 64,
  goal: null,
};

interface Watched {
  readonly process: ChildProcess;
  /** Resolves when the tap has read so many records, and is at the end. */
  hasRead(records: number): Promise<void>;
}

const STATS_MS = 200;

/** A following tap in another process; its records go nowhere, its statistics to us. */
function startTap(runs: string, run: string): Watched {
  const args = ['tap', `${run}.*`, '--runs', runs, '-f', '--from', 'earliest', '-o', 'ndjson'];
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', 'cli/main.ts', ...args, '--stats', `${STATS_MS}ms`],
    { stdio: ['ignore', openSync('/dev/null', 'w'), 'pipe'] },
  );
  const read = new Map<string, { read: number; behind: number }>();
  createInterface({ input: child.stderr! }).on('line', (line) => {
    const cells = line.trim().split(/ {2,}/);
    if (cells.length !== 6 || cells[0] === 'topic') return;
    read.set(cells[0]!, { read: Number(cells[3]), behind: Number(cells[5]) });
  });
  return {
    process: child,
    async hasRead(records) {
      for (;;) {
        const counts = [...read.values()];
        const sum = counts.reduce((all, topic) => all + topic.read, 0);
        if (sum >= records && counts.every(({ behind }) => behind === 0)) return;
        assert.equal(child.exitCode, null, 'the tap has ended');
        await pause(STATS_MS / 2);
      }
    },
  };
}

const runs = folderOnDisk('bench-tap');
const watched = await openWatched(runs, 'watched');
const alone = await openWatched(runs, 'alone');
const tap = startTap(runs, 'watched');
try {
  await tap.hasRead(1);
  const rows: Row[] = [];
  for (const each of [paced, flatOut]) {
    const row = { what: `a tapped job, ${each.name}`, against: 'the same without a tap' };
    const after = async (): Promise<void> => {
      const written = await watched.stats();
      await tap.hasRead(written.reduce((sum, { records }) => sum + records, 0));
    };
    const before = (): Promise<void> => Promise.resolve();
    rows.push(...(await pairs(each, { ...row, watched, alone, turns: TURNS, before, after })));
  }
  print('Taps', rows, json);
} finally {
  tap.process.kill();
  await watched.close();
  await alone.close();
  rmSync(runs, { recursive: true, force: true });
}
