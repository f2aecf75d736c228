import { describe, expect, test } from '@jest/globals';
import { behaviour } from '../../../operators/metrics/behaviour.ts';
import { execution } from '../../../operators/metrics/execution.ts';
import { benchmark } from '../../../operators/metrics/graders/benchmark.ts';
import { benchmarkTable } from '../../../operators/metrics/table.ts';
import { accuracy } from '../../../operators/rewards/accuracy.ts';
import { weighted } from '../../../operators/rewards/reward.ts';
import type { Ability, Scored } from '../../../topics/index.ts';
import { paperTools } from '../../support/paperTools.ts';
import { question } from '../../support/records.ts';
import { scored } from '../../support/scored.ts';

const words = (text: string) => text.split(/\s+/).filter(Boolean).length;
const reward = benchmark();

function evaluated(source: string, ability: Ability, answers: string[], texts: string[]): Scored {
  const asked = question({
    id: `${source}-${answers[0]}`,
    source,
    ability,
    answers,
    phase: 'evaluate',
  });
  const lengths = texts.map(words);
  const rewards = reward({ question: asked, tools: paperTools, texts, lengths });
  return scored({ question: asked, rewards, toolCalls: texts.map(() => 0), lengths });
}

const answer = (text: string, before = '') =>
  `<think>so it is</think>${before}<answer>\\boxed{${text}}</answer>`;
const call = (result: string) => `<python>1</python><result>\n${result}\n</result>`;

const half = evaluated(
  'amc23',
  'math',
  ['\\frac{1}{2}'],
  [answer('1/2', call('0.5')), answer('3')],
);
const seven = evaluated(
  'amc23',
  'math',
  ['7'],
  [answer('7'), answer('7', call('Error: x') + call('error: y'))],
);
const ada = evaluated(
  '2wiki',
  'qa',
  ['Ada Lovelace', 'Ada'],
  [answer('the Ada'), answer('Grace Lovelace')],
);

describe('the reward of an evaluation', () => {
  test('has every number of a response as a part, and the headline number as its score', () => {
    const [first] = half.rewards;
    expect(first).toEqual({
      score: 1,
      parts: {
        exact: 0,
        contains: 0,
        f1: 0,
        mathEqual: 1,
        valid: 1,
        raw: 1,
        format: 0,
        pythonCalls: 1,
        searchCalls: 0,
        toolCalls: 1,
        outputLength: expect.any(Number),
        resultBlocks: 1,
        failedResults: 0,
        thinkingLength: expect.any(Number),
        vote: 0,
      },
    });
    const [best, partly] = ada.rewards;
    expect(best).toMatchObject({ score: 1, parts: { exact: 1, f1: 1 } });
    expect(partly!.score).toBeCloseTo(0.5);
    expect(partly!.parts).toMatchObject({ exact: 0, raw: 0 });
  });

  test('of nothing is nothing', () => {
    const [nothing] = evaluated('2wiki', 'qa', ['x'], ['']).rewards;
    expect(nothing).toMatchObject({ score: 0, parts: { valid: 0, f1: 0, raw: 0, format: -1 } });
  });

  test('can be kept next to another one by a weight of 0', async () => {
    const both = weighted([
      { weight: 1, reward: accuracy() },
      { weight: 0, reward: execution() },
    ]);
    const texts = [answer('7', call('error'))];
    const [made] = await both({
      question: question({ answers: ['7'] }),
      tools: paperTools,
      texts,
      lengths: [9],
    });
    expect(made).toMatchObject({ score: 1, parts: { raw: 1, failedResults: 1, resultBlocks: 1 } });
  });
});

describe('the table', () => {
  const table = benchmarkTable([ada, half, seven], { seed: 1, order: ['amc23'] });
  const [amc, wiki] = table.rows;

  test('has a row for each benchmark in the requested order', () => {
    expect(
      table.rows.map(({ source, measure, questions, responses }) => [
        source,
        measure,
        questions,
        responses,
      ]),
    ).toEqual([
      ['amc23', 'equality', 2, 4],
      ['2wiki', 'f1', 1, 2],
    ]);
  });

  test('counts correctness, efficiency and execution as the paper does', () => {
    expect(amc!.correctness).toBe(3 / 4);
    expect(amc!.efficiency).toBe((1 + 0 + 1 + 1 / 2) / 4);
    expect(amc!.toolCalls).toBe(3 / 4);
    expect(amc!.successfulExecution).toBe((1 + 0 + 1 + 1 / 2) / 4);
    expect(amc!.conciseness).toBeNull();
    expect(amc!.metrics.efficiency).toBe(amc!.efficiency);
    expect(wiki!.correctness).toBeCloseTo(0.75);
    expect(amc!.passAtK).toEqual({ 'pass@1': 3 / 4, 'pass@2': 1 });
    expect(wiki!.passAtK).toEqual({ 'pass@1': 1 / 2, 'pass@2': 1 });
    expect(amc!.interval.low).toBeLessThanOrEqual(amc!.correctness);
    expect(amc!.interval.high).toBeGreaterThanOrEqual(amc!.correctness);
  });

  test('counts reasoning length per thousand tokens of the policy’s own', () => {
    const tokens = ada.rewards.map(({ parts }) => parts.thinkingLength!);
    expect(wiki!.reasoningLength).toBeCloseTo((1000 * (1 / tokens[0]! + 0.5 / tokens[1]!)) / 2);
  });

  test('averages over rows, not over questions', () => {
    const { math, qa, all } = table.averages;
    expect(math!.correctness).toBe(amc!.correctness);
    expect(qa!.efficiency).toBe(wiki!.efficiency);
    expect(all!.correctness).toBeCloseTo((amc!.correctness + wiki!.correctness) / 2);
    expect(benchmarkTable([half], { seed: 1 }).averages.qa).toBeNull();
    expect(benchmarkTable([], { seed: 1 })).toEqual({
      rows: [],
      averages: { math: null, qa: null, all: null },
    });
  });

  test('uses the judge’s verdicts for mathematics if there are any', () => {
    const judged = {
      ...half,
      rewards: half.rewards.map(({ score, parts }, i) => ({
        score,
        parts: { ...parts, judged: i, judgeFailed: 1 - i, concise: i },
      })),
    };
    const [row] = benchmarkTable([judged], { seed: 1 }).rows;
    expect(row).toMatchObject({
      measure: 'judge',
      correctness: 1 / 2,
      judgeFailures: 1,
      conciseness: 1 / 2,
    });
    expect(row!.passAtK['pass@1']).toBe(1 / 2);
  });

  test('can be made of any reward with the part raw', () => {
    const parts = { raw: 1, format: -1 };
    const plain = scored({
      question: question({ phase: 'evaluate' }),
      rewards: [{ score: 1, parts }],
      toolCalls: [2],
    });
    const [row] = benchmarkTable([plain], { seed: 1 }).rows;
    expect(row).toMatchObject({
      measure: 'reward',
      correctness: 1,
      efficiency: 1 / 2,
      formatValid: 0,
      passAtK: {},
    });
  });
});

describe('the behaviour of a policy', () => {
  test('leaves out what the parts do not say', () => {
    expect(behaviour([])).toEqual({});
    expect(Object.keys(behaviour([half]))).toEqual([
      'eval/successful_execution',
      'eval/reasoning_length',
      'eval/pass@1',
      'eval/pass@2',
    ]);
  });
});
