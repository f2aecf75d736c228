/** A preference criterion from outside of the package, as docs/toolStar.md has it. */
import { expect, test } from '@jest/globals';
import { allPairs, type Candidate, type Criterion, sortedBy } from '../../../api/operators.ts';

const fewestCalls: Criterion = (candidates) => {
  const right = candidates.filter(({ correct }) => correct);
  const [best] = sortedBy(right, ({ toolCalls }) => toolCalls);
  if (best === undefined) return { difficulty: '', pairs: [] };
  const worse = candidates.filter(({ toolCalls }) => toolCalls > best.toolCalls);
  return { difficulty: '', pairs: allPairs([best], worse, 1, 'calls') };
};

test('a user can write a preference criterion', () => {
  const candidate = (text: string, correct: boolean, toolCalls: number): Candidate => ({
    text,
    correct,
    toolCalls,
    score: 0,
    length: 1,
    entropy: 0,
  });
  const group = [candidate('a', true, 2), candidate('b', true, 1), candidate('c', false, 3)];
  expect(fewestCalls(group, []).pairs).toEqual([{ chosen: 'b', rejected: 'a', why: 'calls' }]);
  expect(fewestCalls([group[2]!], []).pairs).toEqual([]);
});
