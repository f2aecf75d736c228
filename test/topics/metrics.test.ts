import { expect, test } from '@jest/globals';
import { topics } from '../../topics/index.ts';
import { metric } from '../support/records.ts';

test('a metric is the same record under the name that older versions gave it', () => {
  const { identity, kindOf, asThen } = topics.metrics;
  const then = metric({ name: 'stage/share', step: 2, round: 1, value: 0.5 });
  const now = { ...then, name: 'round/share' };
  expect(identity(now)).toBe(identity(then));
  expect(kindOf!(now)).toBe(kindOf!(then));
  expect(asThen!(now, then)).toEqual(then);
  expect(asThen!({ ...now, value: 0.75 }, then)).not.toEqual(then);
});
