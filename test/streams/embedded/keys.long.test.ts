/**
 * The law of the index by key: whatever was done to a log, who asks for a key is given what a reading of the
 * whole topic would give him, and only the newest records are read for it.
 */
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { draws } from '../../../base/draws.ts';
import { forkLog } from '../../../streams/embedded/forkLog.ts';
import { indexLog } from '../../../streams/embedded/keys/indexLog.ts';
import { KeyCheck } from '../../../streams/embedded/keys/keyCheck.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { Store } from '../../../streams/embedded/store.ts';
import type { Log, Only, Unindexed } from '../../../streams/log.ts';
import type { Topic } from '../../../streams/topic.ts';
import { allTopics, topics } from '../../../topics/index.ts';
import { startChild } from '../../support/child.ts';
import { drawnCall, QUESTIONS } from '../../support/drawnCall.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { batch, metric } from '../../support/records.ts';

const calls = topics.toolCalls as Topic<unknown>;
const appendCalls = fileURLToPath(new URL('./children/appendCalls.ts', import.meta.url));
/** What no run of the index needs to hold yet. */
const TAIL_MAX = 256;

let folder = temporaryFolder();
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

async function withLog<T>(
  mode: 'read' | 'write',
  use: (log: Log) => Promise<T>,
  path = folder.path,
): Promise<T> {
  const log = await openLog({ folder: path, mode });
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}

async function append(log: Log, count: number, seed: number): Promise<void> {
  const random = draws('append', seed);
  for (let done = 0; done < count; done += 512) {
    await log.commit((tx) => {
      for (let i = done; i < Math.min(count, done + 512); i++) {
        tx.append(topics.toolCalls, drawnCall(random, i));
      }
    });
  }
}

async function offsets(
  log: Log,
  topic: Topic<unknown>,
  only?: Only,
  stretches: Unindexed[] = [],
): Promise<readonly number[]> {
  const asked = only === undefined ? {} : { only };
  const unindexed = (stretch: Unindexed): void => void stretches.push(stretch);
  const options = { from: { kind: 'earliest' }, follow: false, unindexed, ...asked } as const;
  const all = await lastValueFrom(log.tap(topic, options).pipe(toArray()));
  return all.map(({ position }) => position.offset);
}

/** The index against a reading of everything; resolves with the stretches that had to be read. */
async function holdsTheLaw(path = folder.path): Promise<readonly Unindexed[]> {
  return withLog(
    'read',
    async (log) => {
      const read = log.tap(topics.toolCalls, { from: { kind: 'earliest' }, follow: false });
      const all = await lastValueFrom(read.pipe(toArray()));
      let stretches: Unindexed[] = [];
      for (const q of [0, 7, 23, QUESTIONS - 1, QUESTIONS]) {
        const [question, rollout] = [`q${q}`, `q${q}/explore-0/${q % 4}`];
        const places = (takes: (call: (typeof all)[number]) => boolean): number[] =>
          all.filter(takes).map(({ position }) => position.offset);
        stretches = [];
        const about = await offsets(log, calls, { subjects: [question] }, stretches);
        expect(about).toEqual(places(({ value }) => value.questionId === question));
        const own = await offsets(log, calls, { keys: [rollout] });
        expect(own).toEqual(places(({ key }) => key === rollout));
      }
      expect(await offsets(log, calls, { keys: ['q1'] })).toEqual([]);
      return stretches;
    },
    path,
  );
}

const read = (stretches: readonly Unindexed[]): number =>
  stretches.reduce((sum, { from, to }) => sum + to - from, 0);

describe('the index by key equals a full scan', () => {
  test('after appends of any size, the log closed and opened between them', async () => {
    const random = draws('sizes', 1);
    for (let round = 0; round < 8; round++) {
      const count = random.integer(round, 4) === 0 ? 3000 : random.integer(100 + round, 300);
      await withLog('write', (log) => append(log, count, round));
      expect(read(await holdsTheLaw())).toBeLessThanOrEqual(TAIL_MAX);
    }
  });

  test('after its process was killed in the middle of appending', async () => {
    for (const [seed, commits] of [3, 30, 11].entries()) {
      const child = startChild(appendCalls, folder.path, String(seed));
      for (let i = 0; i < commits; i++) await child.line();
      await child.kill();
      expect(read(await holdsTheLaw())).toBeLessThanOrEqual(TAIL_MAX);
    }
  });

  test('in a fork, which knows nothing of what came after it', async () => {
    await withLog('write', async (log) => {
      await append(log, 5000, 1);
      await log.commit((tx) => tx.append(topics.metrics, metric()));
      await append(log, 1000, 2);
    });
    const to = `${folder.path}/fork`;
    const after = { topic: topics.metrics as Topic<unknown>, offset: 0 };
    await forkLog({ topics: allTopics, from: folder.path, to, after });
    expect(read(await holdsTheLaw(to))).toBeLessThanOrEqual(TAIL_MAX);
    await withLog('write', (log) => append(log, 700, 3), to);
    expect(read(await holdsTheLaw(to))).toBeLessThanOrEqual(TAIL_MAX);
  });

  test('when runs were merged twice', async () => {
    await withLog('write', (log) => append(log, 66_000, 1));
    const store = new Store(folder.path, 'read');
    expect(store.runs(calls.name)[0]).toMatchObject({ from: 0, to: 65_536, level: 2 });
    expect(store.runs(calls.name).length).toBeLessThan(16);
    await store.close();
    expect(read(await holdsTheLaw())).toBeLessThanOrEqual(TAIL_MAX);
  });

  test('for records that name many questions', async () => {
    await withLog('write', async (log) => {
      await log.commit((tx) => {
        for (let step = 0; step < 300; step++) {
          const named = Array.from({ length: 40 }, (_, i) => `q${(step + i) % 90}`);
          const scored = { partition: 0, offset: 0 };
          const groups = named.map((questionId) => ({ questionId, scored }));
          tx.append(topics.batches, batch({ step, groups }));
        }
      });
      const found = await offsets(log, topics.batches as Topic<unknown>, { subjects: ['q5'] });
      const steps = Array.from({ length: 300 }, (_, step) => step);
      expect(found).toEqual(steps.filter((step) => (5 - (step % 90) + 90) % 90 < 40));
      expect(await offsets(log, topics.batches as Topic<unknown>, { keys: ['17'] })).toEqual([17]);
    });
  });

  test('while the log is written, for a tap that follows', async () => {
    await withLog('write', async (log) => {
      await append(log, 300, 1);
      const reader = await openLog({ folder: folder.path, mode: 'read', pollMs: 5 });
      const found: number[] = [];
      let wake = (): void => undefined;
      const only = { subjects: ['q7'] };
      const options = { from: { kind: 'earliest' }, follow: true, only } as const;
      const tapping = reader.tap(calls, options).subscribe(({ position }) => {
        found.push(position.offset);
        wake();
      });
      for (let seed = 2; seed < 9; seed++) await append(log, 900, seed);
      const all = await offsets(log, calls, only);
      while (found.length < all.length) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      expect(found).toEqual(all);
      tapping.unsubscribe();
      await reader.close();
    });
  });
});

describe('an incomplete or changed index by key', () => {
  const tampered = async (change: (store: Store) => Promise<void>): Promise<void> => {
    const store = new Store(folder.path, 'write');
    await change(store);
    await store.close();
  };
  const faults = async (): Promise<readonly string[]> => {
    const check = new KeyCheck(folder.path);
    await withLog('read', async (log) => {
      const all$ = log.tap(calls, { from: { kind: 'earliest' }, follow: false });
      await all$.forEach(({ value, position }) => {
        check.see(calls, value, position.offset);
      });
    });
    const found = check.faults();
    await check.close();
    return found.map(({ topic, what }) => `${topic}: ${what}`);
  };
  beforeEach(() => withLog('write', (log) => append(log, 5000, 1)));

  test('is scanned past in a log of an older version, and can be built', async () => {
    await tampered((store) => store.write((writes) => writes.clearKeys(calls.name)));
    expect(await holdsTheLaw()).toEqual([{ from: 0, to: 5000, damaged: false }]);
    await withLog('write', (log) => append(log, 600, 2));
    expect(await holdsTheLaw()).toEqual([
      { from: 0, to: 5000, damaged: false },
      { from: 5512, to: 5600, damaged: false },
    ]);
    expect(await faults()).toEqual([]);
    expect(await indexLog(folder.path, allTopics)).toBe(5600);
    expect(read(await holdsTheLaw())).toBeLessThanOrEqual(TAIL_MAX);
    expect(await faults()).toEqual([]);
  });

  test('is bypassed, reported and repaired if a page was changed or misplaced', async () => {
    const whole = new Store(folder.path, 'read');
    const [first, second] = whole.runs(calls.name);
    const pages = Array.from({ length: first!.pages }, (_, page) =>
      whole.keys(calls.name, first!.from, page),
    );
    const other = whole.keys(calls.name, second!.from, 0)!;
    await whole.close();
    const flipped = Buffer.from(pages[0]!);
    flipped[100]! ^= 1;
    for (const page of [flipped, other]) {
      await tampered((store) =>
        store.write((writes) => {
          for (const at of pages.keys()) writes.putKeys(calls.name, first!.from, at, page);
        }),
      );
      const stretches = await holdsTheLaw();
      expect(stretches[0]).toEqual({ from: first!.from, to: first!.to, damaged: true });
      expect(read(stretches)).toBeLessThan(5000);
      expect(await faults()).toEqual([
        `tool-calls: a page of its index of records 0 to ${first!.to - 1} was changed`,
      ]);
      // Appending goes on, merges included, with the damaged run left out.
      await withLog('write', (log) => append(log, 4200, 2));
      await holdsTheLaw();
      await indexLog(folder.path, allTopics);
      expect(await faults()).toEqual([]);
    }
  });

  test('is found out by comparison with the records if it is intact but wrong', async () => {
    await tampered((store) =>
      store.write((writes) => {
        const [first] = store.runs(calls.name);
        writes.putRuns(calls.name, [first!]);
        writes.put(calls.name, 3, store.record(calls.name, 4)!);
      }),
    );
    expect(await faults()).toEqual([
      'tool-calls: its index of records 0 to 4095 does not match the records',
    ]);
  });

  test('is replaced by a full scan if the list of its runs was changed', async () => {
    const { open } = await import('lmdb');
    const env = open({ path: `${folder.path}/log.mdb`, noSubdir: true, maxDbs: 4 });
    const state = env.openDB<string, string[]>({ name: 'state', encoding: 'string' });
    await state.put(['keys', calls.name], `${state.get(['keys', calls.name])} `);
    await env.close();
    expect(await holdsTheLaw()).toEqual([{ from: 0, to: 5000, damaged: true }]);
    expect(await faults()).toEqual(['tool-calls: the list of its index pages was changed']);
    await withLog('write', (log) => append(log, 600, 2));
    expect(read(await holdsTheLaw())).toBe(5000 + 88);
  });
});
