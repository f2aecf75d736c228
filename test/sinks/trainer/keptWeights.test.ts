/**
 * The law of the rule: what is left after every version, over rules, rounds, figures and restarts drawn at
 * random.
 */

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { tap as tapEach } from 'rxjs';
import { draws } from '../../../base/draws.ts';
import { KeptWeights, type WeightsRule } from '../../../sinks/trainer/keptWeights.ts';
import { weightsStore } from '../../../sinks/weights/weights.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import type { Log, Topic } from '../../../streams/index.ts';
import { topics, type Weights } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { metric } from '../../support/records.ts';
import { weights } from '../../support/weights.ts';

const temporary = temporaryFolder();
afterAll(() => temporary.remove());

const RULES: readonly WeightsRule[] = [
  { newest: 2, rounds: 0, every: 0, best: 0 },
  { newest: 0, rounds: 1, every: 0, best: 0 },
  { newest: 3, rounds: 2, every: 0, best: 0 },
  { newest: 4, rounds: 1, every: 5, best: 0 },
  { newest: 2, rounds: 1, every: 0, best: 2 },
  { newest: 3, rounds: 3, every: 7, best: 1 },
];

/** Each rule where every version has a state to go on from, and where every fourth has. */
const CASES = RULES.flatMap((rule) => [1, 4].map((saved) => ({ ...rule, saved })));

test.each(CASES)('keeping weights by %j leaves the right versions after each one', async (rule) => {
  const chance = draws(11, 'kept');
  const log = await openLog({ folder: join(temporary.path, JSON.stringify(rule)), mode: 'write' });
  const there = new Set([0]);
  const ends: number[] = [];
  const figures: [version: number, accuracy: number][] = [];
  const isThere = async ({ version }: Weights): Promise<boolean> => there.has(version);
  let kept = new KeptWeights(rule, log, isThere);
  let parent = weights(0, 0);
  await log.commit((tx) => tx.append(topics.weights, parent));
  for (let version = 1; version <= 40; version++) {
    // A new start knows nothing but what is in the log.
    if (chance.uniform(3 * version) < 0.2) kept = new KeptWeights(rule, log, isThere);
    const ended = chance.uniform(3 * version + 1) < 0.4;
    const state = version % rule.saved === 0 ? 'saved' : '';
    const made = { ...weights(version, parent.roundsDone + (ended ? 1 : 0)), state };
    const needed = version - 1 - ((version - 1) % rule.saved);
    there.add(version);
    if (ended) ends.push(version);
    for (const gone of await kept.goingAfter(made, parent, needed)) there.delete(gone);
    await log.commit((tx) => tx.append(topics.weights, made));
    parent = made;

    const newest = rule.newest === 0 ? version : rule.newest;
    const best = figures
      .toSorted((a, b) => b[1] - a[1] || b[0] - a[0])
      .slice(0, rule.best)
      .map(([of]) => of);
    const stays = (of: number): boolean =>
      of === 0 ||
      of === needed ||
      of > version - newest ||
      (rule.rounds === 0 ? ends : ends.slice(-rule.rounds)).includes(of) ||
      (rule.every > 0 && of % rule.every === 0) ||
      best.includes(of);
    const missing = [...Array(version + 1).keys()].filter((of) => stays(of) && !there.has(of));
    // What was among the best only for a while cannot come back; nothing else may be missing or left.
    expect(missing.filter((of) => !best.includes(of))).toEqual([]);
    if (rule.newest > 0 && rule.best === 0) {
      expect([...there].filter((of) => !stays(of))).toEqual([]);
    }
    expect(there.size).toBeLessThanOrEqual(
      rule.newest === 0 || rule.rounds === 0
        ? Number.POSITIVE_INFINITY
        : 1 +
            rule.newest +
            rule.rounds +
            Math.floor(rule.every > 0 ? version / rule.every : 0) +
            rule.best +
            2,
    );
    if (ended) {
      const accuracy = chance.uniform(3 * version + 2);
      figures.push([version, accuracy]);
      const value = metric({
        name: 'eval/accuracy',
        step: version,
        round: ends.length,
        value: accuracy,
        atMs: 0,
      });
      await log.commit((tx) => tx.append(topics.metrics, value));
    }
  }
  if (rule.best > 0) {
    const [top] = figures.toSorted((a, b) => b[1] - a[1])[0]!;
    expect(there.has(top)).toBe(true);
  }
  await log.close();
});

/** The log, and how many records are read of it. */
function counted(log: Log): { readonly log: Log; readonly reads: () => number } {
  let reads = 0;
  const tap: Log['tap'] = <T>(topic: Topic<T>, options: Parameters<Log['tap']>[1]) =>
    log.tap(topic, options).pipe(
      tapEach(() => {
        reads += 1;
      }),
    );
  return { log: { ...methodsOf(log), tap }, reads: () => reads };
}

function methodsOf(log: Log): Log {
  return {
    read: (topic, options) => log.read(topic, options),
    tap: (topic, options) => log.tap(topic, options),
    commit: (write) => log.commit(write),
    fetch: (topic, positions) => log.fetch(topic, positions),
    mark: (name) => log.mark(name),
    lag: (topic, group) => log.lag(topic, group),
    stats: () => log.stats(),
    close: () => log.close(),
  };
}

describe('after twenty thousand rounds', () => {
  const COUNT = 20_000;
  let log: Log;
  let there: Set<number>;
  beforeAll(async () => {
    log = await openLog({ folder: join(temporary.path, 'old'), mode: 'write' });
    await log.commit((tx) => {
      for (let version = 0; version < COUNT; version++)
        tx.append(topics.weights, weights(version, version));
    });
    there = new Set([0, ...Array.from({ length: 6 }, (_, i) => COUNT - 1 - i)]);
  });
  afterAll(() => log.close());

  test('a start reads few manifests, and removes again what is left and not what is gone', async () => {
    const { log: read, reads } = counted(log);
    const rule = { newest: 2, rounds: 3, every: 0, best: 0 };
    const kept = new KeptWeights(rule, read, async ({ version }) => there.has(version));
    const parent = weights(COUNT - 1, COUNT - 1);
    const gone = await kept.goingAfter(weights(COUNT, COUNT), parent);
    expect(gone.toSorted((a, b) => a - b)).toEqual([6, 5, 4, 3].map((back) => COUNT - back));
    expect(reads()).toBeLessThan(1000);
  });

  test('a version is found by looking back from the newest, and one to come by looking at it alone', async () => {
    const { log: read, reads } = counted(log);
    const store = weightsStore(temporary.path, read);
    expect((await store.manifest(COUNT - 100)).version).toBe(COUNT - 100);
    expect(reads()).toBeLessThan(300);
    const before = reads();
    const stop = new AbortController();
    const coming = store.awaited(COUNT, stop.signal).catch(() => null);
    await log.commit((tx) => tx.append(topics.weights, weights(COUNT, COUNT)));
    expect((await coming)?.version).toBe(COUNT);
    expect(reads() - before).toBeLessThan(100);
  });
});
