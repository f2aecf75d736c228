import { describe, expect, test } from '@jest/globals';
import {
  type CurriculumOptions,
  curriculum,
  easyToHard,
  rightShare,
} from '../../operators/curriculum.ts';
import { runOperator } from '../../testing/runOperator.ts';
import { AFTER_LAST_ROUND, type Demonstrations, topics } from '../../topics/index.ts';
import { obeysOperatorLaws } from '../support/laws.ts';
import { question } from '../support/records.ts';
import { shuffledBy } from '../support/scored.ts';

/** A question of which `right` of 4 trajectories had the right answer. */
function tried(id: string, difficulty: string, right: number): Demonstrations {
  const why = (index: number) => (index < right ? 'repeated call' : 'wrong');
  return {
    question: question({ id, phase: 'evolve', round: 1 }),
    difficulty,
    kept: [],
    dropped: [0, 1, 2, 3].map((index) => ({ index, why: why(index) })),
    version: 0,
  };
}
const values = [
  tried('a', 'easy', 4),
  tried('b', 'medium', 1),
  tried('c', 'hard', 0),
  tried('d', 'medium', 2),
  tried('e', 'hard', 1),
  tried('f', 'hard', 0),
];
const OPTIONS: CurriculumOptions = {
  questions: values.length,
  phase: 'practice',
  rounds: [2],
  atLeast: 1,
  atMost: 100,
  seed: 3,
};
const make = (over: Partial<CurriculumOptions> = {}) => curriculum({ ...OPTIONS, ...over });
const chosen = (over: Partial<CurriculumOptions>) =>
  easyToHard(values, { ...OPTIONS, ...over }).map(({ question: { id } }) => id);

obeysOperatorLaws('curriculum', make, { topic: topics.demonstrations, values });

describe('the questions to train on', () => {
  test('are the hard ones, the nearest to right first', () => {
    expect(chosen({})[0]).toBe('e');
    expect(chosen({}).toSorted()).toEqual(['c', 'e', 'f']);
    expect(chosen({ atMost: 1 })).toEqual(['e']);
    expect(chosen({ atLeast: 3 })).toHaveLength(3);
  });

  test('include the least right of the others if they are too few', () => {
    expect(chosen({ atLeast: 4 })[0]).toBe('b');
    expect(chosen({ atLeast: 5 }).slice(0, 2)).toEqual(['d', 'b']);
    expect(chosen({ atLeast: 99 }).slice(0, 3)).toEqual(['a', 'd', 'b']);
    expect(chosen({ atLeast: 99, atMost: 4 }).slice(0, 2)).toEqual(['b', 'e']);
  });

  test('are rated by the share of their trajectories with the right answer', () => {
    const kept = [
      { index: 9, round: 0, action: 'tools', toolCalls: 1, text: '', turns: [], functions: '' },
    ];
    const dropped = ['wrong', 'failed: gone', 'failed call', '6 calls'].map((why, index) => {
      return { index, why };
    });
    expect(rightShare({ ...tried('x', 'hard', 0), kept, dropped })).toBe(3 / 5);
  });
});

describe('curriculum', () => {
  test('asks them again in a schedule that begins when the round before is finished', async () => {
    const { outputs, commits } = await runOperator(make(), topics.demonstrations, values);
    expect(outputs.map(({ phase, round, schedule }) => [phase, round, schedule])).toEqual(
      [0, 1, 2].map((index) => ['practice', 2, { index, of: 3, version: AFTER_LAST_ROUND }]),
    );
    expect(outputs[0]!.id).toBe('e');
    expect(commits.map(({ settled }) => settled)).toEqual([[0, 1, 2, 3, 4, 5]]);
  });

  test('asks them in every one of its rounds, equals in another order', async () => {
    const many = Array.from({ length: 30 }, (_, i) => tried(`q${i}`, 'hard', 0));
    const operator = make({ questions: 30, rounds: [2, 4] });
    const { outputs } = await runOperator(operator, topics.demonstrations, many);
    const of = (round: number) => outputs.filter((one) => one.round === round).map(({ id }) => id);
    expect(of(2)).toHaveLength(30);
    expect(of(4).toSorted()).toEqual(of(2).toSorted());
    expect(of(4)).not.toEqual(of(2));
  });

  test('chooses the same whatever the order of arrival', async () => {
    const { outputs } = await runOperator(make(), topics.demonstrations, values);
    for (let seed = 0; seed < 10; seed++) {
      const other = await runOperator(make(), topics.demonstrations, shuffledBy(values, seed));
      expect(other.outputs).toEqual(outputs);
    }
  });
});
