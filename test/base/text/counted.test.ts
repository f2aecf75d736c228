import { expect, test } from '@jest/globals';
import { counted } from '../../../base/text/index.ts';

test('a number of things is singular for one alone, however the number is shown', () => {
  expect([0, 1, 2].map((count) => counted(count, 'layer'))).toEqual([
    '0 layers',
    '1 layer',
    '2 layers',
  ]);
  expect(counted(48210, 'token', '48,210')).toBe('48,210 tokens');
});
