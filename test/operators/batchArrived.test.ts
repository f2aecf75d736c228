/** Steps of groups as they come. */
import { expect, test } from '@jest/globals';
import { batchArrived } from '../../operators/batchArrived.ts';
import { runOperator } from '../../testing/runOperator.ts';
import { type Scored, topics } from '../../topics/index.ts';
import { obeysOperatorLaws } from '../support/laws.ts';
import { question } from '../support/records.ts';
import { scored } from '../support/scored.ts';

const group = (id: string): Scored => scored({ question: question({ id }) });
const all = ['a', 'b', 'x', 'c', 'd'].map(group);
const options = {
  groups: 2,
  teaches: async (one: Scored) => one.question.id !== 'x',
  newest: () => 3,
};

obeysOperatorLaws('batchArrived', () => batchArrived(options), {
  topic: topics.scored,
  values: all,
});

test('steps go on after the newest in the topic, and what teaches nothing takes no place', async () => {
  const { outputs } = await runOperator(batchArrived(options), topics.scored, all);
  expect(outputs).toEqual([
    expect.objectContaining({ step: 4, version: 3, round: 1, last: false, kind: 'policy' }),
    expect.objectContaining({ step: 5, version: 4, round: 1, last: false, kind: 'policy' }),
  ]);
  expect(
    outputs.map(({ groups }) => groups.map((one) => [one.questionId, one.scored.offset])),
  ).toEqual([
    [
      ['a', 0],
      ['b', 1],
    ],
    [
      ['c', 3],
      ['d', 4],
    ],
  ]);
});
