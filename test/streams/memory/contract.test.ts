import { describe, expect, test } from '@jest/globals';
import type { Log } from '../../../streams/log.ts';
import { MemoryStore, openMemoryLog } from '../../../streams/memory/index.ts';
import type { ManualClock } from '../../../testing/manualClock.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { topics } from '../../../topics/index.ts';
import { keepsLogContract, type LogUnderTest } from '../../support/logContract.ts';
import { question } from '../../support/records.ts';

async function openFresh(clock: ManualClock): Promise<LogUnderTest> {
  const store = new MemoryStore();
  const board = { about: null };
  const open = (): Log => openMemoryLog({ store, clock, board });
  let log = open();
  return {
    log,
    async reopen() {
      await log.close();
      log = open();
      return log;
    },
    remove: () => log.close(),
  };
}

keepsLogContract('the log in memory', openFresh);

describe('the log in memory', () => {
  test('keeps nothing of a commit that its store did not apply', async () => {
    let full = false;
    const store = new MemoryStore(async (apply) => {
      if (full) throw new Error('no space left');
      apply();
    });
    const log = openMemoryLog({ store, clock: manualClock() });
    const append = (id: string): Promise<void> =>
      log.commit((tx) => tx.append(topics.questions, question({ id })));
    await append('q0');
    full = true;
    await expect(append('q1')).rejects.toMatchObject({ code: 'LOG_WRITE' });
    full = false;
    await append('q2');
    const kept = await log.fetch(
      topics.questions,
      [0, 1].map((offset) => ({ partition: 0, offset })),
    );
    expect(kept.map(({ value }) => value.id)).toEqual(['q0', 'q2']);
    expect(store.head('questions').end).toBe(2);
    await log.close();
  });

  test('goes on over its store where a process was killed before it learnt of a commit', async () => {
    let dead = false;
    const store = new MemoryStore(async (apply) => {
      apply();
      if (dead) await new Promise(() => undefined);
    });
    const first = openMemoryLog({ store, clock: manualClock() });
    dead = true;
    let learnt = false;
    void first
      .commit((tx) => tx.append(topics.questions, question({ id: 'q0' })))
      .then(() => {
        learnt = true;
      });
    await new Promise((resolve) => setImmediate(resolve));
    dead = false;
    const second = openMemoryLog({ store, clock: manualClock() });
    expect(learnt).toBe(false);
    expect(await second.stats()).toMatchObject([{ topic: 'questions', records: 1 }]);
    await second.close();
  });
});
