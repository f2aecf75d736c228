import { describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { toolLightEfficiency, toolLightNecessity } from '../../../operators/metrics/toolUse.ts';
import { toolEfficiency, toolNecessity } from '../../oracles/toolUse.ts';

const verdicts = { right: 'Correct', wrong: 'Incorrect', failed: 'Error' } as const;
const drawn = draws('tool use');
let at = 0;
const below = (n: number): number => drawn.integer(at++, n);

describe('Tool-Light’s Efficiency', () => {
  test('agrees with a second writing on sets with several hops and others', () => {
    for (let i = 0; i < 200; i++) {
      const samples = Array.from({ length: 1 + below(40) }, () => ({
        correct: below(2),
        toolCalls: below(5),
      }));
      expect(toolLightEfficiency('musique', samples)).toBe(toolEfficiency(samples, 'one'));
      if (samples.some(({ toolCalls }) => toolCalls > 0))
        expect(toolLightEfficiency('aime24', samples)).toBe(toolEfficiency(samples, 'skip'));
    }
  });

  test('is nothing where no response counts', () => {
    expect(toolLightEfficiency('aime24', [{ correct: 1, toolCalls: 0 }])).toBeNull();
  });
});

describe('Tool-Light’s Necessity', () => {
  test.each([false, true])('agrees with a second writing (quirk: %s)', (quirk) => {
    const names = ['right', 'wrong', 'failed'] as const;
    for (let i = 0; i < 100; i++) {
      const questions = 1 + below(12);
      const methods = Array.from({ length: 1 + below(5) }, () =>
        Array.from({ length: questions }, () => ({
          verdict: names[below(3)]!,
          toolCalls: below(5),
        })),
      );
      const theirs = methods.map((own) =>
        own.map(({ verdict, toolCalls }) => ({ verdict: verdicts[verdict], toolCalls })),
      );
      expect(toolLightNecessity(methods, { quirk })).toEqual(
        toolNecessity(theirs, quirk ? 'reference' : 'repaired'),
      );
    }
  });
});
