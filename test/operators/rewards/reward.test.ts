import { describe, expect, test } from '@jest/globals';
import { accuracy, correctness } from '../../../operators/rewards/accuracy.ts';
import { deepResearch, outcomeVerdict } from '../../../operators/rewards/deepResearch.ts';
import { perRollout, perRolloutAsync, weighted } from '../../../operators/rewards/reward.ts';
import type { Question } from '../../../topics/index.ts';
import { paperTools } from '../../support/paperTools.ts';

const question: Question = {
  id: 'q1',
  question: 'How many?',
  answers: ['12'],
  source: 'world',
  ability: 'math',
  phase: 'practice',
  round: 1,
  schedule: null,
};
const RIGHT = '<think>a</think><answer>\\boxed{12}</answer>';
const WRONG = '<think>a</think><answer>\\boxed{13}</answer>';

describe('a user’s reward', () => {
  const brief = perRollout('brief', ({ length }) => (length < 100 ? 1 : 0));

  test('takes a name and a function', () => {
    expect(brief({ question, tools: paperTools, texts: ['x', 'y'], lengths: [50, 500] })).toEqual([
      { score: 1, parts: { brief: 1 } },
      { score: 0, parts: { brief: 0 } },
    ]);
  });

  test('sees the calls of a rollout with their results, and how much the policy wrote', () => {
    const text =
      '<think>a</think><search>x</search><python>1/0</python><result>page</result>' +
      '<result>ZeroDivisionError</result><think>b</think><search>y</search>';
    const seen: unknown[] = [];
    const look = perRollout('look', ({ calls, length, policyLength }) => {
      seen.push(...calls, length - policyLength);
      return calls.length;
    });
    const group = { question, tools: ['search', 'python'], texts: [text], lengths: [50] };
    expect(look({ ...group, policyLengths: [40] })).toEqual([{ score: 3, parts: { look: 3 } }]);
    expect(seen).toEqual([
      { tool: 'search', input: 'x', result: 'page', failed: false },
      { tool: 'python', input: '1/0', result: 'ZeroDivisionError', failed: true },
      { tool: 'search', input: 'y', result: null, failed: false },
      10,
    ]);
  });

  test('is combined with others by weights, keeping the parts of all', async () => {
    const reward = weighted([
      { weight: 1, reward: accuracy() },
      { weight: 0.25, reward: brief },
    ]);
    expect(
      await reward({ question, tools: paperTools, texts: [RIGHT, WRONG], lengths: [50, 50] }),
    ).toEqual([
      { score: 1.25, parts: { raw: 1, brief: 1 } },
      { score: 0.25, parts: { raw: 0, brief: 1 } },
    ]);
  });

  test('may be asynchronous, even as a term', async () => {
    let asked = 0;
    let most = 0;
    const judged = perRolloutAsync('judged', async ({ text }) => {
      asked += 1;
      most = Math.max(most, asked);
      await new Promise((resolve) => setImmediate(resolve));
      asked -= 1;
      return text === RIGHT ? 0.5 : 0;
    });
    const reward = weighted([
      { weight: 1, reward: brief },
      { weight: 2, reward: judged },
    ]);
    expect(
      await reward({ question, tools: paperTools, texts: [RIGHT, WRONG], lengths: [500, 50] }),
    ).toEqual([
      { score: 1, parts: { brief: 0, judged: 0.5 } },
      { score: 1, parts: { brief: 1, judged: 0 } },
    ]);
    expect(most).toBe(1);
  });

  test('learns by its signal that it is no longer wanted', async () => {
    const stop = new AbortController();
    const seen: (AbortSignal | undefined)[] = [];
    const judged = perRolloutAsync('judged', async (_, signal) => {
      seen.push(signal);
      return 0;
    });
    const group = { question, tools: paperTools, texts: ['x'], lengths: [1] };
    await weighted([{ weight: 1, reward: judged }])(group, stop.signal);
    expect(seen).toEqual([stop.signal]);
  });
});

describe('the correctness reward', () => {
  test('for mathematics compares normal forms of the last box anywhere', () => {
    expect(correctness(question, `${RIGHT} \\boxed{24/2}`).raw).toBe(0);
    expect(
      correctness({ ...question, answers: ['24/2'] }, `${RIGHT} \\boxed{\\frac{24}{2}}`).raw,
    ).toBe(1);
  });

  test('needs an answer block', () => {
    expect(correctness(question, '\\boxed{12}')).toEqual({ raw: 0, f1: 0, answer: '' });
  });

  test('for knowledge compares with every reference', () => {
    const qa = { ability: 'qa' as const, answers: ['twelve', '12'] };
    expect(correctness(qa, RIGHT).raw).toBe(1);
  });
});

describe('the deep-search reward', () => {
  test('adds a bonus when two tools were used', () => {
    const text =
      '<think>a</think><search>x</search><result>y</result>' +
      '<python>x</python><result>y</result><answer>\\boxed{12}</answer>';
    expect(outcomeVerdict(text, ['12'], paperTools)).toMatchObject({
      score: 1.1,
      reason: 'correct-several-tools',
    });
  });

  test('treats "yes" as right or wrong, never half', () => {
    const text = '<think>a</think><answer>\\boxed{yes}</answer>';
    expect(outcomeVerdict(text, ['yes sir'], paperTools).score).toBe(0);
    expect(outcomeVerdict(text, ['Yes.'], paperTools).score).toBe(1);
  });

  test('takes off one point for a format error', () => {
    const [reward] = deepResearch()({
      question,
      tools: paperTools,
      texts: ['no tags'],
      lengths: [2],
    });
    expect(reward).toEqual({ score: -1, parts: { raw: 0, f1: 0, format: -1 } });
  });
});
