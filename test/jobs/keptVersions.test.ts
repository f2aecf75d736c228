import { describe, expect, test } from '@jest/globals';
import { keeping, keepSettings } from '../../jobs/keptVersions.ts';
import { policySettings } from '../../jobs/policySettings.ts';

const MB = 2 ** 20;
const usual = policySettings.parse({});

describe('of the weights a run keeps', () => {
  test('four versions, all ends of rounds and their states, where they are small', () => {
    expect(keeping(usual, 50 * MB)).toEqual({
      keepVersions: 4,
      keepRule: { rounds: 0, every: 0, best: 0 },
      keepStates: 'all',
      saveEvery: 1,
    });
  });

  test('what a resume needs and the newest end of a round, where they are large', () => {
    expect(keeping(usual, 1600 * MB)).toMatchObject({
      keepVersions: 2,
      keepRule: { rounds: 1, every: 0, best: 0 },
      keepStates: 'newest',
    });
  });

  test('what the settings say, of whatever size they are', () => {
    const set = { keepVersions: 9, keepEvery: 30, keepBest: 2 };
    expect(keeping(policySettings.parse(set), 1600 * MB)).toMatchObject({
      keepVersions: 9,
      keepRule: { rounds: 0, every: 30, best: 2 },
      keepStates: 'all',
    });
    expect(keeping(policySettings.parse({ keepRounds: 3 }), 1600 * MB).keepRule.rounds).toBe(3);
  });
});

describe('the optimiser’s state is saved', () => {
  const every = (saveEvery: unknown, bytes = 0) =>
    keeping(policySettings.parse({ saveEvery }), bytes).saveEvery;

  test('after steps or a time', () => {
    expect(every(10)).toBe(10);
    expect(every('15m')).toEqual({ ms: 900_000 });
    expect(every('1.5h')).toEqual({ ms: 5_400_000 });
  });

  test('after every step of a small policy, and by size after a time with a large one', () => {
    expect(every('auto', 50 * MB)).toBe(1);
    expect(every('auto', 1.6e9)).toEqual({ ms: 160_000 });
    expect(every(1, 1.6e9)).toBe(1);
  });

  test.each([0, 1.5, '15', 'm', '0m', 'never', null])(
    'not after %j, and says what it takes',
    (wrong) => {
      const { error } = keepSettings.saveEvery.safeParse(wrong);
      expect(error?.issues.map(({ message }) => message)).toEqual([
        'expected a number of steps, a duration such as 15m, or auto',
      ]);
    },
  );
});
