import { beforeEach, describe, expect, test } from '@jest/globals';
import { openLog } from '../../../streams/embedded/openLog.ts';
import type { Log } from '../../../streams/log.ts';
import { divergence } from '../../../streams/replay/index.ts';
import { allTopics, topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { freshLog } from '../../support/freshLog.ts';
import { metric, question, rollout } from '../../support/records.ts';
import { scored } from '../../support/scored.ts';

const RECORDS = 200;

let first: Log;
let second: Log;
freshLog((log) => {
  first = log;
});
freshLog((log) => {
  second = log;
});

const ordered = Array.from({ length: RECORDS }, (_, i) => i);
const reversed = ordered.toReversed();

/** Rollouts in this order, each with the score that refers to it. */
async function fill(log: Log, order: readonly number[], startedMs = 0): Promise<void> {
  await log.commit((tx) => {
    order.forEach((id, offset) => {
      const asked = question({ id: `q${id}` });
      const own = { id: `q${id}/explore-0/0`, question: asked, startedMs };
      tx.append(topics.rollouts, rollout({ ...own, version: Math.floor(id / 10) }));
      tx.append(
        topics.scored,
        scored({ question: asked, rollouts: [{ partition: 0, offset }], version: 0 }),
      );
    });
  });
}

async function compared(...logs: readonly [Log, Log]) {
  const seen: [number, number][] = [];
  const found = await divergence(allTopics, ...logs, (...at) => seen.push(at));
  return { ...found, seen };
}

describe('where two runs part', () => {
  beforeEach(async () => {
    await fill(first, ordered);
  });

  test.each([
    ['the same', ordered],
    ['the opposite', reversed],
  ])('is nowhere when they have the same records in %s order, at other times', async (_, order) => {
    await fill(second, order, 99);
    const found = await compared(first, second);
    expect(found.divergence).toBeNull();
    const all = { equal: RECORDS, all: RECORDS };
    expect(found.same).toEqual({ rollouts: all, scored: all });
  });

  test('counts every record of both on the way', async () => {
    await fill(second, reversed);
    const { seen } = await compared(first, second);
    const records = 4 * RECORDS;
    expect(seen).toEqual(Array.from({ length: records }, (_, i) => [i + 1, records]));
  });

  test('is where a reference leads to another record', async () => {
    const wrong = ordered.with(3, 4).with(4, 3);
    await fill(second, ordered);
    const swapped = temporaryFolder();
    const third = await openLog({ folder: swapped.path, mode: 'write' });
    try {
      await third.commit((tx) => {
        for (const id of ordered) {
          const asked = question({ id: `q${id}` });
          const own = { id: `q${id}/explore-0/0`, question: asked };
          tx.append(topics.rollouts, rollout({ ...own, version: Math.floor(id / 10) }));
          const rollouts = [{ partition: 0, offset: wrong[id]! }];
          tx.append(topics.scored, scored({ question: asked, rollouts, version: 0 }));
        }
      });
      const { divergence: found, same } = await compared(second, third);
      expect(found?.difference).toMatchObject({
        ...{ topic: 'scored', field: 'rollouts.0', offset: 3 },
        ...{ recorded: 'q3/explore-0/0', made: 'q4/explore-0/0' },
      });
      expect(same.scored).toEqual({ equal: RECORDS - 2, all: RECORDS });
    } finally {
      await third.close();
      swapped.remove();
    }
  });

  test('is at the earliest moment, and there at the first record of the first run', async () => {
    await fill(
      second,
      reversed.filter((id) => id !== 150),
    );
    await first.commit((tx) => tx.append(topics.metrics, metric({ step: 2, value: 1 })));
    await second.commit((tx) => {
      tx.append(topics.metrics, metric({ step: 2, value: 2 }));
      tx.append(topics.rollouts, rollout({ id: 'new', version: 15 }));
    });
    const { divergence: found } = await compared(first, second);
    expect(found).toMatchObject({
      moment: 0,
      difference: { topic: 'scored', kind: 'notMadeAgain' },
    });
    const rollouts = await divergence([topics.metrics, topics.rollouts], first, second);
    expect(rollouts.divergence).toMatchObject({ moment: 2, difference: { topic: 'metrics' } });
    const alone = await divergence([topics.rollouts], first, second);
    expect(alone.divergence).toMatchObject({
      ...{ moment: 15, difference: { kind: 'notMadeAgain', id: 'q150/explore-0/0', offset: 150 } },
    });
    expect(alone.same.rollouts).toEqual({ equal: RECORDS - 1, all: RECORDS + 1 });
  });
});
