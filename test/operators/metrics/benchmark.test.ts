import { describe, expect, test } from '@jest/globals';
import { aggregate } from '../../../operators/metrics/aggregate.ts';
import {
  isConcise,
  redundancyVote,
  saysCorrect,
} from '../../../operators/metrics/graders/judge.ts';
import { mersenneTwister } from '../../../operators/metrics/mersenneTwister.ts';
import { evaluateSample } from '../../../operators/metrics/sample.ts';
import { averageMetrics, bootstrap } from '../../oracles/bootstrap.ts';
import { paperTools } from '../../support/paperTools.ts';

function sample(f1: number, calls: number) {
  const got = evaluateSample({
    ability: 'qa',
    output: '<search>a</search>'.repeat(calls),
    prediction: 'x',
    references: ['y'],
    tools: paperTools,
  });
  return { ...got, f1 };
}

describe('the aggregate of samples', () => {
  test('gives the published worked example, a timeout counting as zeros', () => {
    const got = aggregate([sample(1, 2), sample(0.5, 0), null], 'qa', false);
    expect(got.f1).toBe(0.5);
    expect(got.efficiency).toBeCloseTo(1 / 3, 14);
    expect(got.toolCalls).toBeCloseTo(2 / 3, 14);
    expect(got.toolProductivity).toBeCloseTo(43.47826086956522, 12);
    expect(got).toMatchObject({ validAnswers: 2, samples: 3 });
  });

  test('is all zeros for no sample', () => {
    expect(aggregate([], 'math', true)).toMatchObject({ f1: 0, efficiency: 0, samples: 0 });
  });
});

describe('a sample', () => {
  test('is judged by its last lines if no answer was extracted', () => {
    const output = 'a\n\nb\nc\nd\ne\nf is it';
    const got = evaluateSample({
      ability: 'qa',
      tools: paperTools,
      output,
      prediction: '',
      references: ['f is it'],
    });
    expect(got).toMatchObject({ valid: true, contains: 1, exact: 0 });
  });

  test('is invalid and all zeros if it is empty', () => {
    const got = evaluateSample({
      ability: 'qa',
      tools: paperTools,
      output: ' \n',
      prediction: '',
      references: [''],
    });
    expect(got).toMatchObject({ valid: false, contains: 0 });
  });

  test('has the length of the policy’s text in code points', () => {
    const output = '😀😀<result>not counted</result>';
    const got = evaluateSample({
      ability: 'qa',
      tools: paperTools,
      output,
      prediction: 'x',
      references: [],
    });
    expect(got.outputLength).toBe(2);
  });
});

describe('a judge', () => {
  test('does not approve by a denial', () => {
    expect(saysCorrect('<judgment>Correct</judgment> incorrect')).toBe(true);
    expect(saysCorrect('It is not correct')).toBe(false);
  });

  test('votes by a leading yes or no', () => {
    expect(redundancyVote('<answer> "Yes." </answer>')).toBe('yes');
    expect(redundancyVote('None')).toBe('no');
    expect(redundancyVote('I think yes')).toBeNull();
  });

  test('counts a tie as concise', () => {
    expect(isConcise(['yes', 'no', null])).toBe(true);
    expect(isConcise(['yes', 'yes', 'no'])).toBe(false);
  });
});

describe('the bootstrap', () => {
  test('draws as MT19937 does: the ten-thousandth output of seed 5489 is known', () => {
    const generator = mersenneTwister(5489);
    let last = 0;
    for (let i = 0; i < 10_000; i++) last = generator.next();
    expect(last).toBe(4123659995);
  });

  test('gives one response only a mean', () => {
    expect(bootstrap([0.5], { seed: 1 })).toEqual({ 'mean@1': 0.5 });
  });

  test('gives a best above and a worst below the mean', () => {
    const got = bootstrap([0, 1, 1, 0], { seed: 42 });
    expect(Object.keys(got)).toContain('best@4/std');
    expect(got['best@2/mean']).toBeGreaterThan(got['mean@4']!);
    expect(got['worst@2/mean']).toBeLessThan(got['mean@4']!);
  });

  test('averages prompts name by name', () => {
    expect(averageMetrics([{ a: 1 }, { a: 3, b: 5 }])).toEqual({ a: 2, b: 5 });
  });
});
