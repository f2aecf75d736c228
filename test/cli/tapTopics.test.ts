import { describe, expect, it } from '@jest/globals';
import { parseInterval } from '../../cli/interval.ts';
import { named, topicsLike } from '../../cli/tap/patterns.ts';
import { Tally } from '../../cli/tap/tally.ts';
import { TopicQueue } from '../../cli/tap/topicQueue.ts';
import type { Stored } from '../../streams/log.ts';
import { topics } from '../../topics/index.ts';

const stored = (key: string, value: unknown = {}, topic = 'scored'): Stored<unknown> => ({
  topic,
  position: { partition: 0, offset: 0 },
  key,
  value,
  atMs: 0,
  bytes: 1000,
});

describe('patterns', () => {
  const names = (...patterns: readonly string[]): readonly string[] =>
    topicsLike(patterns, ['metrics', 'own-one', 'own-two']).map(({ name }) => name);

  it('name topics once each, in the order in which a run works', () => {
    expect(names('metrics', 'rollouts', 'roll*')).toEqual(['rollouts', 'metrics']);
    expect(names('*ed', 'weight?')).toEqual(['scored', 'selected', 'weights', 'evolved']);
  });

  it('name topics that the job defines too, if the log has them', () => {
    expect(names('*')).toHaveLength(Object.keys(topics).length + 2);
    expect(names('own-*', 'metrics')).toEqual(['metrics', 'own-one', 'own-two']);
    expect(() => names('own')).toThrow(/no topic "own"\. Topics: .*, own-one, own-two$/);
    expect(() => names('own-ones')).toThrow(/Did you mean own-one\?/);
  });

  it('belong to one run, and match at least one topic', () => {
    expect(named(['first.metrics', 'rollouts'], undefined)).toEqual({
      run: 'first',
      patterns: ['metrics', 'rollouts'],
    });
    expect(() => named(['a.metrics', 'b.metrics'], undefined)).toThrow(/reads only one run.*a, b/);
    expect(() => named(['a.metrics'], 'c')).toThrow(/reads only one run/);
    expect(() => names('x*')).toThrow(/no topic matches "x\*".*questions, /);
    expect(() => names('(+)')).toThrow(/no topic "\(\+\)"/);
  });
});

describe('--stats', () => {
  it('shows rates since the last line and counts since the beginning', () => {
    const hooks = { changed: () => undefined, unreadable: () => undefined };
    const tally = new Tally([new TopicQueue('scored', hooks), new TopicQueue('metrics', hooks)], 0);
    for (let i = 0; i < 30; i++) {
      tally.read(stored(`q${i}`));
      if (i % 3 !== 0) tally.shown(stored(`q${i}`));
    }
    const lines = (nowMs: number): string[] => tally.lines(nowMs).split('\n');
    expect(lines(2000)).toEqual([
      'topic   records/s   bytes/s  read  shown  behind',
      'scored         15  14.6 KiB    30     20       0',
    ]);
    expect(lines(4000)[1]).toMatch(/^scored +0\.0 +0 B +30 +20 +0$/);
    expect(tally.total).toEqual({ read: 30, shown: 20, unreadable: 0 });
  });

  it('is shown at the given interval', () => {
    const every = (text: string): number => parseInterval('--stats', text);
    expect(['5s', '500ms', '2', '1m'].map(every)).toEqual([5000, 500, 2000, 60_000]);
    expect(() => every('1ms')).toThrow(/--stats takes an interval/);
    expect(() => every('first.metrics')).toThrow(/given: first\.metrics/);
  });
});
