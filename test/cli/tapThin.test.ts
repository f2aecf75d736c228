import { describe, expect, it } from '@jest/globals';
import { everyMs } from '../../cli/every.ts';
import { Lane } from '../../cli/tap/lane.ts';
import { named, topicsLike } from '../../cli/tap/patterns.ts';
import { Tally } from '../../cli/tap/tally.ts';
import { rate, sample } from '../../cli/tap/thin.ts';
import type { Stored } from '../../streams/log.ts';
import { manualClock } from '../support/clock.ts';

const stored = (key: string, value: unknown = {}, topic = 'scored'): Stored<unknown> => ({
  topic,
  position: { partition: 0, offset: 0 },
  key,
  value,
  atMs: 0,
  bytes: 1000,
});

describe('--sample', () => {
  const keys = Array.from({ length: 4000 }, (_, i) => `q${i}`);

  it.each(['0.1', '10%', '1/10', '.1'])('takes about the share %s of the keys', (share) => {
    const taken = keys.filter((key) => sample(share)(stored(key)));
    expect(taken.length).toBeGreaterThan(320);
    expect(taken.length).toBeLessThan(480);
  });

  it('takes the same questions in every topic, whatever their key there', () => {
    const take = sample('1/4');
    for (const key of keys.slice(0, 200)) {
      const call = stored(`${key}/explore-0/3`, { questionId: key }, 'tool-calls');
      expect(take(call)).toBe(take(stored(key, { id: key }, 'questions')));
    }
  });

  it('of more holds that of less', () => {
    const [less, more] = [sample('0.2'), sample('0.5')];
    expect(keys.filter((key) => less(stored(key)) && !more(stored(key)))).toEqual([]);
  });

  it.each(['0', '2', '-1', 'half', '1/0', '120%'])('refuses %s', (text) => {
    expect(() => sample(text)).toThrow(/--sample takes a share of the keys/);
  });
});

describe('--rate', () => {
  it('lets so many a second through, spread over the second, and drops the others', () => {
    const clock = manualClock();
    const take = rate('50/s', clock);
    const perTenth = Array.from({ length: 30 }, () => {
      clock.advance(100);
      return Array.from({ length: 40 }, () => take(stored('k'))).filter(Boolean).length;
    });
    expect(perTenth.reduce((sum, count) => sum + count)).toBe(150);
    expect(Math.max(...perTenth)).toBe(5);
  });

  it('saves nothing up while nothing comes', () => {
    const clock = manualClock();
    const take = rate('20', clock);
    clock.advance(60_000);
    expect(Array.from({ length: 10 }, () => take(stored('k'))).filter(Boolean)).toHaveLength(2);
  });

  it('may be less than one a second', () => {
    const clock = manualClock();
    const take = rate('6/m', clock);
    const seconds = Array.from({ length: 30 }, () => {
      const taken = take(stored('k'));
      clock.advance(1000);
      return taken;
    });
    expect(seconds.filter(Boolean)).toHaveLength(3);
  });

  it.each(['0', 'fast', '5/d', '-3'])('refuses %s', (text) => {
    expect(() => rate(text, manualClock())).toThrow(/--rate takes so many records a second/);
  });
});

describe('patterns', () => {
  const names = (...patterns: readonly string[]): readonly string[] =>
    topicsLike(patterns, ['metrics', 'own-one', 'own-two']).map(({ name }) => name);

  it('stand for topics, each once, in the order in which a run works', () => {
    expect(names('metrics', 'rollouts', 'roll*')).toEqual(['rollouts', 'metrics']);
    expect(names('*ed', 'weight?')).toEqual(['scored', 'selected', 'weights', 'evolved']);
  });

  it("stand for those of the job's own too, where the log has them", () => {
    expect(names('*')).toHaveLength(14);
    expect(names('own-*', 'metrics')).toEqual(['metrics', 'own-one', 'own-two']);
    expect(() => names('own')).toThrow(/no topic "own"\. There are: .*, own-one, own-two$/);
    expect(() => names('own-ones')).toThrow(/Did you mean own-one\?/);
  });

  it('are of one run, and of topics that there are', () => {
    expect(named(['first.metrics', 'rollouts'], undefined)).toEqual({
      ...{ run: 'first', patterns: ['metrics', 'rollouts'] },
    });
    expect(() => named(['a.metrics', 'b.metrics'], undefined)).toThrow(/of one run.*a, b/);
    expect(() => named(['a.metrics'], 'c')).toThrow(/of one run/);
    expect(() => names('x*')).toThrow(/no topic is like "x\*".*questions, /);
    expect(() => names('(+)')).toThrow(/no topic "\(\+\)"/);
  });
});

describe('--stats', () => {
  it('tell rates since the last time and counts since the beginning', () => {
    const hooks = { changed: () => undefined, unreadable: () => undefined };
    const tally = new Tally([new Lane('scored', hooks), new Lane('metrics', hooks)], 0);
    for (let i = 0; i < 30; i++) {
      tally.read(stored(`q${i}`));
      if (i % 3 === 0) tally.dropped(stored(`q${i}`));
      else tally.shown(stored(`q${i}`));
    }
    const lines = (nowMs: number): string[] => tally.tell(nowMs).split('\n');
    expect(lines(2000)).toEqual([
      'topic   records/s   bytes/s  read  shown  dropped  behind',
      'scored         15  14.6 KiB    30     20       10       0',
    ]);
    expect(lines(4000)[1]).toMatch(/^scored +0\.0 +0 B +30 +20 +10 +0$/);
    expect(tally.total).toEqual({ read: 30, shown: 20, dropped: 10, unreadable: 0 });
  });

  it('are told as often as is said, but not all the time', () => {
    const every = (text: string): number => everyMs('--stats', text);
    expect(['5s', '500ms', '2', '1m'].map(every)).toEqual([5000, 500, 2000, 60_000]);
    expect(() => every('1ms')).toThrow(/--stats takes how often/);
    expect(() => every('first.metrics')).toThrow(/given: first\.metrics/);
  });
});
