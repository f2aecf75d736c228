/** Event files: what TensorBoard reads in them, and that a start goes on where the files end. */
import { appendFileSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { crc32c } from '../../../base/crc32.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import { exportMetrics, type RunAbout } from '../../../sinks/outside/exportMetrics.ts';
import { originsIn } from '../../../sinks/tensorboard/events.ts';
import { tensorBoard } from '../../../sinks/tensorboard/tensorBoard.ts';
import type { Log } from '../../../streams/log.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { freshLog } from '../../support/freshLog.ts';
import { yardstick } from '../../support/python.ts';
import { metric } from '../../support/records.ts';

let log: Log;
freshLog((fresh) => {
  log = fresh;
});
let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

const about: RunAbout = {
  run: 'first',
  job: 'numbers',
  seed: 7,
  millrace: '0.1.0',
  startedMs: 1_700_000_000_000,
  settings: { lr: 0.1, name: '# <script>' },
};
const clock = manualClock(1_700_000_100_000);
const write = (...steps: readonly number[]): Promise<void> =>
  log.commit((tx) => {
    for (const step of steps) {
      tx.append(topics.metrics, metric({ name: 'reward/mean', step, value: step / 10 }));
    }
  });

async function carry(over: Partial<RunAbout> = {}): Promise<number> {
  const target = tensorBoard({ ...about, ...over }, { folder: folder.path, clock });
  return exportMetrics(target, {
    log,
    clock: sleepClock(clock),
    over: null,
    stop: new AbortController().signal,
    end: async () => ({ status: 'done', endedMs: 5 }),
  });
}

const files = (run = 'first'): string[] =>
  readdirSync(join(folder.path, run))
    .sort()
    .map((name) => join(folder.path, run, name));
const offsets = (run = 'first'): number[][] =>
  files(run).map((path) =>
    [...originsIn(readFileSync(path))].flatMap(({ position }) => position?.offset ?? []),
  );

test('CRC-32C is that of the iSCSI standard', () => {
  expect(crc32c(Buffer.from('123456789'), 0)).toBe(0xe306_9283);
  expect(crc32c(Buffer.alloc(32), 0)).toBe(0x8a91_36aa);
});

describe('event files', () => {
  test('continue in a new file at each start, and are not created if there is nothing to write', async () => {
    await write(1, 2, 3);
    expect(await carry()).toBe(3);
    expect(await carry()).toBe(0);
    expect(offsets()).toEqual([[0, 1, 2]]);
    await write(4, 5);
    expect(await carry()).toBe(2);
    expect(offsets()).toEqual([
      [0, 1, 2],
      [3, 4],
    ]);
  });

  test('truncated by a crash are continued after the last whole event', async () => {
    await write(1, 2, 3);
    await carry();
    const [file] = files() as [string];
    truncateSync(file, readFileSync(file).length - 5);
    expect(await carry()).toBe(1);
    expect(offsets()).toEqual([[0, 1], [2]]);
    const second = files()[1]!;
    const bytes = readFileSync(second);
    bytes[bytes.length - 10]! ^= 1;
    writeFileSync(second, bytes);
    appendFileSync(second, 'no event');
    expect(await carry()).toBe(1);
    expect(offsets()).toEqual([[0, 1], [], [2]]);
  });

  test('of a restarted or rewound run are in their own folders', async () => {
    await write(1, 2);
    await carry();
    expect(await carry({ startedMs: about.startedMs + 1 })).toBe(2);
    expect(await carry({ run: 'rewound' })).toBe(2);
    expect(readdirSync(folder.path).sort()).toEqual(['first', 'first.2', 'rewound']);
    expect(await carry({ startedMs: about.startedMs + 1 })).toBe(0);
    expect(await carry()).toBe(0);
  });
});

yardstick(['tensorboard'])(
  'TensorBoard reads every number at its step and time',
  async (python) => {
    await write(1, 2);
    await log.commit((tx) => {
      tx.append(topics.metrics, metric({ name: 'loss', step: 2, value: Number.NaN }));
      tx.append(topics.metrics, metric({ name: 'größe/Ω', step: 3, value: -1e30 }));
    });
    await carry();
    const [file] = files() as [string];
    truncateSync(file, readFileSync(file).length - 3);
    await write(3, 2 ** 40);
    await carry();
    const stored: number[] = [];
    await log
      .tap(topics.metrics, { from: { kind: 'earliest' }, follow: false })
      .forEach(({ atMs }) => void stored.push(atMs / 1000));
    const read = python.run('test/sinks/tensorboard/read.py', join(folder.path, 'first'));
    expect(read).toEqual({
      scalars: {
        'reward/mean': [
          [1, stored[0], Math.fround(0.1)],
          [2, stored[1], Math.fround(0.2)],
          [3, stored[4], Math.fround(0.3)],
          [2 ** 40, stored[5], Math.fround(2 ** 40 / 10)],
        ],
        loss: [[2, stored[2], 'nan']],
        'größe/Ω': [[3, stored[3], Math.fround(-1e30)]],
      },
      text: 'Run first of numbers, seed 7, millrace 0.1.0.\n\n    lr: 0.1\n    name: "# <script>"\n    \n',
    });
  },
);
