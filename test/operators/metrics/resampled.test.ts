import { describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { meanNumbers, resampling } from '../../../operators/metrics/resampled.ts';
import { averageMetrics, bootstrap } from '../../oracles/bootstrap.ts';

describe('resampled numbers', () => {
  test('agree with a second writing, whatever the number of responses', () => {
    const drawn = draws('resampled');
    let at = 0;
    const draw = (): number => drawn.uniform(at++);
    const resample = resampling();
    const prompts = Array.from({ length: 24 }, (_, i) => {
      const count = 1 + (i % 12);
      const values = Array.from({ length: count }, () => Math.round(draw() * 4) / 4);
      const votes = Array.from({ length: count }, () => `answer ${Math.floor(draw() * 3)}`);
      return { values, votes };
    });
    const ours = prompts.map(resample);
    const theirs = prompts.map(({ values, votes }) => bootstrap(values, { seed: 42, votes }));
    for (const [i, numbers] of ours.entries()) expect(numbers).toEqual(theirs[i]);
    expect(meanNumbers(ours)).toEqual(averageMetrics(theirs));
  });

  test('have no majority without votes, and of one response only its mean', () => {
    expect(resampling()({ values: [0.5] })).toEqual({ 'mean@1': 0.5 });
    expect(Object.keys(resampling()({ values: [0, 1] })).join(' ')).not.toContain('maj');
  });
});
