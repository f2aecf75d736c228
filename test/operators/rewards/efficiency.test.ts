import { describe, expect, test } from '@jest/globals';
import { efficiency, sigmaFactor } from '../../../operators/rewards/efficiency.ts';
import type { GroupForReward } from '../../../operators/rewards/reward.ts';
import type { Question } from '../../../topics/index.ts';
import { paperTools } from '../../support/paperTools.ts';

const question: Question = {
  id: 'q1',
  question: 'Who wrote it?',
  answers: ['Ada Lovelace'],
  source: 'world',
  ability: 'qa',
  phase: 'practice',
  round: 2,
  schedule: null,
};
const SEARCH = '<search>a</search><result>b</result>';
const PYTHON = '<python>a</python><result>b</result>';
const ANSWER = '<answer>\\boxed{Ada Lovelace}</answer>';

function group(calls: readonly string[], lengths: readonly number[]): GroupForReward {
  const texts = calls.map((call) => `<think>t</think>${call}${ANSWER}`);
  return { question, tools: paperTools, texts, lengths };
}

describe('the efficiency reward', () => {
  test('gives the published worked example', () => {
    const reward = efficiency({ sigmaTool: 0.2, sigmaLength: 0.5 });
    const [own] = reward(group([SEARCH, '', SEARCH, PYTHON], [100, 50, 120, 200]));
    expect(own!.parts.tool).toBeCloseTo(0.9750052070315792, 14);
    expect(own!.parts.length).toBeCloseTo(1.080803787396048, 14);
    expect(own!.score).toBeCloseTo(1.0537893204905988, 14);
  });

  test('is accuracy and format alone if both sigmas are 0', () => {
    const reward = efficiency({ sigmaTool: 0, sigmaLength: 0 });
    const { texts, lengths } = group(['', SEARCH], [10, 900]);
    const wrong = texts[0]!.replace('Ada Lovelace', 'Nobody');
    const broken = texts[1]!.replace('</think>', '');
    const rewards = reward({
      question,
      tools: paperTools,
      texts: [...texts, wrong, broken],
      lengths: [...lengths, 5, 5],
    });
    expect(rewards.map(({ score }) => score)).toEqual([1, 1, 0, 0]);
    expect(rewards[3]!.parts.format).toBe(-1);
  });

  test('prefers the right answer with fewer calls', () => {
    const reward = efficiency({ sigmaTool: 0.5, sigmaLength: 0 });
    const [none, one, three] = reward(group(['', SEARCH, SEARCH + PYTHON + SEARCH], [9, 9, 9]));
    expect(none!.score).toBeGreaterThan(one!.score);
    expect(one!.score).toBeGreaterThan(three!.score);
  });

  test('takes a sigma that depends on the round', () => {
    const fading = efficiency({ sigmaTool: ({ round }) => 0.2 / round, sigmaLength: 0 });
    const fixed = efficiency({ sigmaTool: 0.1, sigmaLength: 0 });
    const sample = group(['', SEARCH], [1, 1]);
    expect(fading(sample)).toEqual(fixed(sample));
  });

  test('puts a single rollout at its own mean', () => {
    const [own] = efficiency({ sigmaTool: 3, sigmaLength: 3 })(group([SEARCH], [77]));
    expect(own!.score).toBe(1);
  });

  test('as in the paper halves the factors and rewards overlapping words', () => {
    const paper = efficiency({ sigmaTool: 0, sigmaLength: 0, mode: 'paper' });
    const { texts } = group([''], [1]);
    const half = texts[0]!.replace('Ada Lovelace', 'Ada Smith');
    const [own] = paper({ question, tools: paperTools, texts: [half], lengths: [1] });
    expect(own!.parts).toMatchObject({ raw: 0.5, tool: 0.5, length: 0.5 });
  });

  test('as in the paper counts lengths without tool results, as in the reference with them', () => {
    const sample = { ...group(['', SEARCH], [10, 90]), policyLengths: [30, 10] };
    const lengthParts = (mode: 'paper' | 'reference'): number[] =>
      efficiency({ sigmaTool: 0, sigmaLength: 1, mode })(sample).map(({ parts }) => parts.length!);
    const [short, long] = lengthParts('reference');
    expect(short).toBeGreaterThan(long!);
    const [wordy, brief] = lengthParts('paper');
    expect(brief).toBeGreaterThan(wordy!);
  });

  test('counts calls of the job’s tools, and requires their results', () => {
    const reward = efficiency({ sigmaTool: 0.1, sigmaLength: 0 });
    const looked = (text: string) => reward({ ...group([text], [1]), tools: ['lookup'] })[0]!.parts;
    expect(looked('<lookup>x</lookup>')).toMatchObject({ toolCalls: 1, format: -1 });
    expect(looked(`<lookup>x</lookup><result>y</result>`)).toMatchObject({ format: 0 });
    expect(looked(SEARCH).toolCalls).toBe(0);
  });
});

test('sigma fades from 1 at the first step to 0 at the last, and is 0 in a round of one step', () => {
  expect([1, 2, 3, 4].map((step) => sigmaFactor(step, 3))).toEqual([1, 0.5, 0, 0]);
  expect(sigmaFactor(1, 1)).toBe(0);
});
