import { expect, test } from '@jest/globals';
import { type PairsOptions, pairs } from '../../operators/pairs.ts';
import type { Candidate } from '../../operators/preferences/candidate.ts';
import { selfCritic } from '../../operators/preferences/selfCritic.ts';
import { runOperator } from '../../testing/runOperator.ts';
import {
  type Phase,
  type Position,
  type Question,
  type Rollout,
  type Scored,
  topics,
} from '../../topics/index.ts';
import { obeysOperatorLaws } from '../support/laws.ts';
import { paperTools } from '../support/paperTools.ts';
import { question, rollout } from '../support/records.ts';
import { rewards, scored } from '../support/scored.ts';

const asked = (id: string, phase: Phase = 'prefer'): Question => question({ id, phase, round: 2 });

/** The rollouts of q1, two a group: the first right, the second wrong; a third failed. */
const stored: Rollout[] = [0, 1, 2].map((index) =>
  rollout({
    index,
    question: asked('q1'),
    text: `response ${index}`,
    toolCalls: index + 1,
    tokens: new Int32Array(5 + index),
    version: 3 + index,
    status: index === 2 ? 'failed' : 'done',
    segments: [0.5, null, 0.25].map((entropy, at) => ({
      kind: at === 1 ? 'tool' : 'policy',
      start: at,
      end: at + 1,
      version: 3,
      entropy: entropy === null ? null : entropy * (index + 1),
      tool: null,
    })),
  }),
);

const log: PairsOptions['log'] = {
  fetch: async (topic, positions: readonly Position[]) =>
    positions.map((position) => ({
      topic: topic.name,
      position,
      key: '',
      atMs: 0,
      bytes: 0,
      value: stored[position.offset] as never,
    })),
};
const position = (offset: number): Position => ({ partition: 0, offset });
const groupOf = (of: Question, scores: readonly number[]): Scored =>
  scored({
    question: of,
    rewards: rewards(scores),
    rollouts: scores.map((_, i) => position(i)),
  });

const make = (over: Partial<PairsOptions> = {}) =>
  pairs({
    tools: { tags: paperTools },
    log,
    criterion: () => selfCritic(),
    concurrency: 2,
    ...over,
  });

obeysOperatorLaws('pairs', make, {
  topic: topics.scored,
  values: [groupOf(asked('q1'), [1, 0]), groupOf(asked('q2'), [0, 1])],
});

test('the pairs stage looks up the texts of a group and gives its pairs', async () => {
  const { outputs } = await runOperator(make(), topics.scored, [groupOf(asked('q1'), [1, 0])]);
  expect(outputs).toEqual([
    {
      question: asked('q1'),
      difficulty: '',
      version: 4,
      pairs: [{ chosen: 'response 0', rejected: 'response 1', why: 'self-critic' }],
    },
  ]);
});

test('the pairs stage ignores groups of other phases, and writes a record even without a pair', async () => {
  const values = [groupOf(asked('q1', 'evaluate'), [1, 0]), groupOf(asked('q2'), [1, 1])];
  const { outputs, unsettled } = await runOperator(make(), topics.scored, values);
  expect(outputs.map(({ question: { id }, pairs: made }) => [id, made])).toEqual([['q2', []]]);
  expect(unsettled).toBe(0);
});

test('the pairs stage shows each finished rollout of a question to the criterion', async () => {
  const seen: (readonly Candidate[])[] = [];
  const of: Question[] = [];
  const criterion: PairsOptions['criterion'] = (about) => {
    of.push(about);
    return (candidates) => {
      seen.push(candidates);
      return { difficulty: 'odd', pairs: [] };
    };
  };
  const group = groupOf(asked('q1'), [0.75, 0.7, 1]);
  const { outputs } = await runOperator(make({ criterion }), topics.scored, [group]);
  expect(of).toEqual([asked('q1')]);
  expect(outputs[0]!.difficulty).toBe('odd');
  const first = {
    index: 0,
    text: 'response 0',
    score: 0.75,
    toolCalls: 1,
    length: 5,
    entropy: 0.375,
  };
  const second = {
    index: 1,
    text: 'response 1',
    score: 0.7,
    toolCalls: 2,
    length: 6,
    entropy: 0.75,
  };
  expect(seen).toEqual([
    [
      { ...first, correct: true },
      { ...second, correct: false },
    ],
  ]);
});
