import { describe, expect, test } from '@jest/globals';
import { demonstrations, filterPool } from '../../operators/demonstrations.ts';
import { runOperator } from '../../testing/runOperator.ts';
import { type Evolved, topics } from '../../topics/index.ts';
import { obeysOperatorLaws } from '../support/laws.ts';
import { paperTools } from '../support/paperTools.ts';
import { question } from '../support/records.ts';

const answer = '<answer>\\boxed{7}</answer>';
const search = (result: string) =>
  `<think>a</think><search>b</search><result>${result}</result><think>c</think>${answer}`;

/** A pool of these trajectories, all of them right by default. */
function pool(...members: readonly Partial<Evolved>[]): Evolved[] {
  return members.map((member, index) => ({
    question: question({ id: 'q1', phase: 'evolve' }),
    round: 0,
    parent: -1,
    action: 'rerollout',
    correct: true,
    toolCalls: 0,
    text: `<think>a</think>${answer}`,
    index,
    of: members.length,
    version: 0,
    ...member,
  }));
}

const bad: readonly Partial<Evolved>[] = [
  { correct: false },
  { text: answer },
  { text: search('Error: no such thing') },
  { text: search(' \n') },
  { text: search('found'), toolCalls: 9 },
  { action: 'failed', text: 'the server is gone', correct: false },
];

const tools = { tags: paperTools };

obeysOperatorLaws('demonstrations', () => demonstrations({ tools, openMax: 2 }), {
  topic: topics.evolved,
  values: pool({}, { correct: false }),
});

describe('demonstrations', () => {
  test('gathers the pools of questions that come mixed, one record each', async () => {
    const q2 = question({ id: 'q2', phase: 'evolve' });
    const other = pool({ question: q2 }, { question: q2, correct: false });
    const [a, b] = pool({}, { correct: false });
    const run = await runOperator(demonstrations({ tools, openMax: 2 }), topics.evolved, [
      ...[a!, other[0]!, other[1]!, b!],
    ]);
    expect(run.outputs.map(({ question: { id }, kept }) => [id, kept.length])).toEqual([
      ['q2', 1],
      ['q1', 1],
    ]);
    expect(run.commits.map(({ settled }) => settled)).toEqual([
      [1, 2],
      [0, 3],
    ]);
  });

  test('records why every other trajectory was dropped', () => {
    const { kept, dropped } = filterPool(pool({}, ...bad, {}), { tools, callsMax: 6 });
    expect(kept.map(({ index }) => index)).toEqual([0]);
    expect(dropped).toEqual([
      { index: 1, why: 'wrong' },
      { index: 2, why: 'malformed: no-think' },
      { index: 3, why: 'failed call' },
      { index: 4, why: 'failed call' },
      { index: 5, why: '9 calls' },
      { index: 6, why: 'failed: the server is gone' },
      { index: 7, why: 'same as 0' },
    ]);
  });

  test('makes a record of a question even if nothing of it is kept', () => {
    expect(
      filterPool(pool({ correct: false, version: 3 }, { correct: false }), { tools }),
    ).toMatchObject({
      kept: [],
      version: 3,
    });
  });

  test('keeps the best of a question, by the preference that it is given', () => {
    const text = (thought: string) => `<think>${thought}</think>${answer}`;
    const members = pool(
      { text: text('long'), toolCalls: 1, round: 0 },
      { text: text('longer'), toolCalls: 0, round: 1 },
      { text: text('l'), toolCalls: 2, round: 2 },
    );
    const first = (prefer?: Parameters<typeof filterPool>[1]['prefer']) => {
      const { kept, dropped } = filterPool(
        members,
        prefer === undefined ? { tools } : { tools, prefer },
      );
      expect(dropped.map(({ why }) => why)).toEqual(['not among the best', 'not among the best']);
      return kept[0]!.index;
    };
    expect(first()).toBe(1);
    expect(first('latestRound')).toBe(2);
    expect(first('earliestRound')).toBe(0);
    expect(first('shortest')).toBe(2);
    expect(first((a, b) => b.toolCalls - a.toolCalls)).toBe(2);
    const two = filterPool(members, { tools, perQuestion: 2 });
    expect(two.kept.map(({ index }) => index)).toEqual([1, 0]);
  });

  test('corrects the thinking tags around a hint only if that repairs the format', () => {
    const hints = { math: [' Wait.'], qa: [] };
    const text = `<think>a</think><search>b</search><result>c</result><think><think> Wait. d</think>${answer}`;
    const { kept } = filterPool(pool({ text, toolCalls: 1 }), { tools, hints });
    expect(kept[0]!.text).toBe(text.replace('<think><think> Wait', '<think> Wait'));
    expect(filterPool(pool({ text }), { tools, hints: { math: [], qa: [] } }).kept).toEqual([]);
    const own = `<think> Wait. It is 7.</think>${answer}`;
    expect(filterPool(pool({ text: own }), { tools, hints }).kept[0]!.text).toBe(own);
    const unboxed = '<think> Wait. It is 7.</think><answer>7</answer>';
    expect(filterPool(pool({ text: unboxed }), { tools, hints }).dropped[0]!.why).toBe(
      'malformed: no-box',
    );
  });
});
