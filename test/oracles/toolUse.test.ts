import { describe, expect, test } from '@jest/globals';
import { toolEfficiency, toolNecessity } from './toolUse.ts';

describe('tool efficiency', () => {
  const samples = [
    { correct: 1, toolCalls: 2 },
    { correct: 1, toolCalls: 0 },
  ];

  test('counts a sample without a call as one call, or leaves it out', () => {
    expect(toolEfficiency(samples, 'one')).toBe(0.75);
    expect(toolEfficiency(samples, 'skip')).toBe(0.5);
  });

  test('refuses to average nothing', () => {
    expect(() => toolEfficiency([{ correct: 1, toolCalls: 0 }], 'skip')).toThrow('no sample');
  });

  test('rounds a tie to the even digit', () => {
    const correct = new Array(32)
      .fill(0)
      .map((_, i) => ({ correct: i === 0 ? 1 : 0, toolCalls: 1 }));
    expect(toolEfficiency(correct, 'one')).toBe(0.0312);
  });
});

describe('tool necessity', () => {
  test('is high if fewer calls failed, and low if they sufficed', () => {
    const right = { verdict: 'Correct', toolCalls: 3 };
    expect(
      toolNecessity([
        [right, right],
        [
          { verdict: 'Incorrect', toolCalls: 0 },
          { verdict: 'Incorrect', toolCalls: 0 },
        ],
      ]),
    ).toEqual([1, 0]);
    const cheap = { verdict: 'Correct', toolCalls: 0 };
    expect(toolNecessity([[right], [cheap]])).toEqual([0, 1]);
  });

  test('ignores what the judge could not decide', () => {
    const own = { verdict: 'Error', toolCalls: 3 };
    const undecided = { verdict: 'Error', toolCalls: 0 };
    const right = { verdict: 'Correct', toolCalls: 0 };
    const wrong = { verdict: 'Incorrect', toolCalls: 0 };
    // own: +1 for the wrong, -1 for the right, nothing for the undecided; the others have no one with fewer
    // calls.
    expect(toolNecessity([[own], [undecided], [wrong]])).toEqual([1, 0, 0]);
    expect(toolNecessity([[own], [undecided], [right]])).toEqual([0, 1, 1]);
    expect(toolNecessity([[own], [undecided], [undecided]])).toEqual([0.0001, 0.0001, 0.0001]);
  });

  test('is small and equal for equal methods', () => {
    const same = [{ verdict: 'Correct', toolCalls: 1 }];
    expect(toolNecessity([same, same])).toEqual([0.0001, 0.0001]);
  });
});
