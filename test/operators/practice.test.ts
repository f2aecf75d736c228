import { describe, expect, test } from '@jest/globals';
import { practice } from '../../operators/practice.ts';
import { runOperator } from '../../testing/runOperator.ts';
import { type Selected, topics } from '../../topics/index.ts';
import { obeysOperatorLaws } from '../support/laws.ts';
import { question, samples } from '../support/records.ts';

const verdict = (id: string, kept: boolean, index: number): Selected => ({
  ...samples.selected.full,
  question: question({ id, round: 2 }),
  kept,
  index,
});
const values = [verdict('a', true, 1), verdict('b', false, -1), verdict('c', true, 0)];

obeysOperatorLaws('practice', practice, { topic: topics.selected, values });

describe('practice', () => {
  test('asks the kept questions again, each with its place in the round', async () => {
    const { outputs, unsettled } = await runOperator(practice(), topics.selected, values);
    expect(unsettled).toBe(0);
    expect(outputs).toEqual([
      question({
        id: 'a',
        round: 2,
        phase: 'practice',
        schedule: { index: 1, of: 10, version: 7 },
      }),
      question({
        id: 'c',
        round: 2,
        phase: 'practice',
        schedule: { index: 0, of: 10, version: 7 },
      }),
    ]);
  });
});
