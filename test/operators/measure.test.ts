import { describe, expect, test } from '@jest/globals';
import { measure } from '../../operators/measure.ts';
import { evaluation } from '../../operators/metrics/evaluation.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { runOperator } from '../../testing/runOperator.ts';
import { type Scored, topics } from '../../topics/index.ts';
import { obeysOperatorLaws } from '../support/laws.ts';
import { question } from '../support/records.ts';
import { rewards, scored } from '../support/scored.ts';

const evaluated = (id: string, round: number, over: Partial<Scored> = {}): Scored =>
  scored({ question: question({ id, phase: 'evaluate', round }), ...over });

const groups = [
  evaluated('a', 1, {
    rewards: [
      { score: 1, parts: { raw: 1, format: 0 } },
      { score: -1, parts: { raw: 0, format: -1 } },
    ],
    toolCalls: [2, 5],
    lengths: [10, 40],
    version: 4,
  }),
  evaluated('b', 1, {
    rewards: [
      { score: 1, parts: { raw: 1, format: 0 } },
      { score: 1, parts: { raw: 0.5, format: 0 } },
    ],
    toolCalls: [0, 1],
    lengths: [20, 30],
    version: 5,
  }),
];
const make = () => measure({ questions: 2, openMax: 2, clock: manualClock(50) });

obeysOperatorLaws('measure', make, { topic: topics.scored, values: groups });

describe('evaluation', () => {
  test('counts over rollouts, not over questions', () => {
    expect(evaluation(groups)).toEqual({
      accuracy: 2.5 / 4,
      meanToolCalls: 2,
      meanToolCallsCorrect: 1,
      // 1/2 + 0/5 + 1 (right without a call) + 0.5/1
      efficiency: 2 / 4,
      formatValid: 3 / 4,
      tokens: 25,
      questions: 2,
    });
  });

  test('of nothing is 0 and not NaN', () => {
    expect(Object.values(evaluation([]))).toEqual([0, 0, 0, 0, 0, 0, 0]);
    const wrong = evaluated('a', 0, { rewards: rewards([0]), toolCalls: [3] });
    expect(evaluation([wrong]).meanToolCallsCorrect).toBe(0);
  });
});

describe('measure', () => {
  test('reports an evaluation once all its questions are scored', async () => {
    const half = await runOperator(make(), topics.scored, groups.slice(0, 1));
    expect(half.outputs).toEqual([]);
    const { outputs, commits } = await runOperator(make(), topics.scored, groups);
    expect(commits).toHaveLength(1);
    expect(Object.fromEntries(outputs.map(({ name, value }) => [name, value]))).toEqual({
      'eval/accuracy': 0.625,
      'eval/tools_mean': 2,
      'eval/tools_mean_correct': 1,
      'eval/efficiency': 0.5,
      'eval/format_valid': 0.75,
      'eval/len_response': 25,
      'eval/pass@1': 0.5,
      'eval/pass@2': 1,
      'eval/questions': 2,
    });
    for (const metric of outputs) expect(metric).toMatchObject({ step: 5, round: 1, atMs: 50 });
    // The screen shows an evaluation when this one has come.
    expect(outputs.at(-1)!.name).toBe('eval/questions');
  });

  test('reports further parts and what it is asked for', async () => {
    const parts = { raw: 1, failedResults: 2, resultBlocks: 2, thinkingLength: 100, concise: 0 };
    const one = evaluated('a', 0, { rewards: [{ score: 1, parts }], toolCalls: [2], lengths: [9] });
    const told = { questions: 1, openMax: 1, clock: manualClock(), also: () => ({ mine: 7 }) };
    const { outputs } = await runOperator(measure(told), topics.scored, [one]);
    expect(Object.fromEntries(outputs.map(({ name, value }) => [name, value]))).toMatchObject({
      'eval/successful_execution': 0.5,
      'eval/reasoning_length': 10,
      'eval/conciseness': 0,
      mine: 7,
    });
    expect(outputs.at(-1)!.name).toBe('eval/questions');
  });

  test('keeps evaluations apart and ignores other phases', async () => {
    const others = (['practice', 'explore'] as const).map((phase) =>
      scored({ question: question({ phase, round: 1 }) }),
    );
    const values = [groups[0]!, evaluated('a', 2), ...others, groups[1]!, evaluated('b', 2)];
    const { outputs, unsettled } = await runOperator(make(), topics.scored, values);
    expect(
      outputs.filter(({ name }) => name === 'eval/questions').map(({ round }) => round),
    ).toEqual([1, 2]);
    expect(unsettled).toBe(0);
  });
});
