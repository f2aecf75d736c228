import { expect, test } from '@jest/globals';
import { actionMask } from '../../../model/credit/toolPo.ts';

const CALL = { kind: 'call', start: 1, end: 3 } as const;

test('actions of ToolPO are calls and folds, and searches if requested', () => {
  const actions = [CALL, { kind: 'search', start: 3, end: 4 }, { kind: 'fold', start: 5, end: 6 }];
  const typed = actions as Parameters<typeof actionMask>[1];
  expect([...actionMask(6, typed)]).toEqual([0, 1, 1, 0, 0, 1]);
  expect([...actionMask(6, typed, { search: true })]).toEqual([0, 1, 1, 1, 0, 1]);
});

test.each([
  [-1, 2],
  [2, 1],
  [1, 4],
  [Number.NaN, 1],
])('an action of tokens %d to %d of three is refused', (start, end) => {
  expect(() => actionMask(3, [{ ...CALL, start, end }])).toThrow(/is outside the 3 tokens/);
});
