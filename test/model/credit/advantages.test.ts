import { describe, expect, test } from '@jest/globals';
import { grpo } from '../../../model/credit/grpo.ts';
import { grpoPassk } from '../../../model/credit/grpoPassk.ts';
import { opo } from '../../../model/credit/opo.ts';
import { rloo } from '../../../model/credit/rloo.ts';
import { perGroup } from '../../oracles/batch.ts';
import { gae, remax } from '../../oracles/tokenAdvantages.ts';

const SCORES = [1.1, 0, -1, 0.5];

function near(values: readonly number[], wanted: readonly number[]): void {
  expect(values).toHaveLength(wanted.length);
  values.forEach((value, i) => {
    expect(value).toBeCloseTo(wanted[i]!, 7);
  });
}

describe('group advantages', () => {
  test('GRPO divides by the sample deviation', () => {
    near(grpo()(SCORES), [1.0688323, -0.168763, -1.29384963, 0.39378032]);
    near(grpo()([1, 0, 0, 1]), [0.8660239, -0.8660239, -0.8660239, 0.8660239]);
  });

  test('Dr. GRPO only centres', () => {
    near(grpo({ normByStd: false })([1, 0, 0, 1]), [0.5, -0.5, -0.5, 0.5]);
  });

  test('RLOO leaves one out', () => {
    near(rloo()(SCORES), [1.26666667, -0.2, -1.53333333, 0.46666667]);
  });

  test('OPO weighs by length', () => {
    near(opo()(SCORES, [2, 4, 1, 3]), [0.83, -0.27, -1.27, 0.23]);
  });

  test('pass@k credits the best alone', () => {
    near(grpoPassk()(SCORES), [0.67505198, 0, 0, 0]);
    expect(() => grpoPassk()([1])).toThrow('2 rollouts');
  });

  test.each([
    ['grpo', grpo()],
    ['rloo', rloo()],
    ['pass@k', grpoPassk()],
  ])('%s gives exactly 0 to a group of equal scores', (_, advantage) => {
    expect(advantage([0.1, 0.1, 0.1])).toEqual([0, 0, 0]);
  });

  test('perGroup keeps groups apart and the order of the batch', () => {
    const advantages = perGroup(grpo({ normByStd: false }), [1, 10, 3, 30], ['a', 'b', 'a', 'b']);
    expect(advantages).toEqual([-1, -10, 1, 10]);
  });
});

describe('token advantages', () => {
  test('GAE with λ = 1 returns the discounted rewards', () => {
    const { returns } = gae({
      rewards: [[0, 0, 1]],
      values: [[0.3, 0.2, 0.1]],
      mask: [[1, 1, 1]],
      gamma: 0.5,
      lambda: 1,
    });
    near(returns[0]!, [0.25, 0.5, 1]);
  });

  test('GAE refuses a batch of one token, whose deviation is unknown', () => {
    const one = { rewards: [[1]], values: [[0]], mask: [[1]], gamma: 1, lambda: 1 };
    expect(() => gae(one)).toThrow('2 selected tokens');
  });

  test('ReMax takes the greedy score off every selected token', () => {
    const { advantages } = remax([[0, 1, 5]], [0.25], [[1, 1, 0]]);
    expect(advantages).toEqual([[0.75, 0.75, 0]]);
  });
});
