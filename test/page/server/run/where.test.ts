import { describe, expect, test } from '@jest/globals';
import { where } from '../../../../page/server/run/where.ts';
import type { Stored } from '../../../../streams/log.ts';

function stored(value: unknown): Stored<unknown> {
  return {
    topic: 'scored',
    position: { partition: 0, offset: 7 },
    key: 'q1',
    value,
    atMs: 5,
    bytes: 3,
  };
}

const record = stored({
  question: { id: 'q1', round: 2 },
  rewards: [
    { score: 0.1, parts: { raw: 0 } },
    { score: 0.9, parts: { raw: 1 } },
  ],
  finish: 'length',
  text: 'an answer and more',
  kept: true,
  distance: null,
});

describe('the filter where=', () => {
  test.each([
    ['finish = length', true],
    ['finish != length', false],
    ['question.round >= 2', true],
    ['question.round>2', false],
    ['rewards.score < 0.2', true],
    ['rewards.1.score < 0.2', false],
    ['reward < 0.2', true],
    ['rewards.parts.raw = 1 and finish = "length"', true],
    ['text ~ "and more"', true],
    ['kept = true', true],
    ['distance = null', true],
    ['offset = 7 and key = q1', true],
    ['nothing.there = 1', false],
    ['constructor != x', false],
    ['__proto__.x = 1', false],
    ['finish < 3', false],
  ])('understands %s', (text, matches) => {
    expect(where(text, 'scored').matches(record)).toBe(matches);
  });

  test('shows how it was understood', () => {
    expect(where('reward<0.2 AND text~"and more"', 'scored').text).toBe(
      'reward < 0.2 and text ~ "and more"',
    );
  });

  test.each([
    ['finish', 'an operator is missing after finish'],
    ['= 3', 'a field is missing at the beginning'],
    ['a =', 'a value is missing after a ='],
    ['a = 1 or b = 2', 'only "and" joins terms, not "or"'],
    ['a = 1 and', 'it ends in "and"'],
    ['a = 1; b', 'only "and" joins terms'],
    ['a = "open', 'it cannot be parsed from'],
    ['a = 1 '.repeat(100), 'longer than 500'],
    [Array.from({ length: 9 }, () => 'a = 1').join(' and '), 'more than 8 terms'],
  ])('refuses %j', (text, why) => {
    expect(() => where(text, 'scored')).toThrow(why);
  });
});
