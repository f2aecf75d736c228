import { describe, expect, test } from '@jest/globals';
import { draws } from '../../../model/draws.ts';
import type { EvolveOptions } from '../../../operators/evolve/context.ts';
import { flywheel } from '../../../operators/evolve/flywheel.ts';
import type { CompletionRequest } from '../../../operators/evolve/models.ts';
import { selectParent } from '../../../operators/evolve/select.ts';
import type { Question } from '../../../streams/records.ts';

const question: Question = {
  id: 'q1',
  question: 'Who?',
  answers: ['Ada'],
  source: 'world',
  ability: 'qa',
  phase: 'explore',
  stage: 0,
  schedule: null,
};
const RIGHT = '<think>a</think><answer>\\boxed{Ada}</answer>';
const WRONG = '<think>b</think><search>x</search>';

/** Models that reply by request name (the last reply repeats), tools that find nothing. */
function options(
  replies: Readonly<Record<string, readonly (string | null)[]>>,
  asked: CompletionRequest[] = [],
): EvolveOptions {
  const served = new Map<string, number>();
  return {
    complete: async (request) => {
      asked.push(request);
      const own = replies[request.name] ?? [''];
      const at = served.get(request.name) ?? 0;
      served.set(request.name, at + 1);
      return own[Math.min(at, own.length - 1)]!;
    },
    run: async () => null,
    quotas: { python: 2, search: 2 },
    extraQuotas: {},
    rounds: 1,
    draws: draws('test'),
  };
}

describe('flywheel', () => {
  test('keeps the first trajectory alone when there are no rounds', async () => {
    const { pool, rounds } = await flywheel(question, {
      ...options({ '0/initial': [RIGHT] }),
      rounds: 0,
    });
    expect(pool).toMatchObject([{ text: RIGHT, correct: true, parent: null, action: 'initial' }]);
    expect(rounds).toEqual([]);
  });

  test('enhances a correct parent and drops what came to nothing', async () => {
    const { pool, rounds } = await flywheel(
      question,
      options({
        '0/initial': [RIGHT],
        '1/redundancy': ['Step: no'],
        '1/refine': ['Short.</think>'],
      }),
    );
    expect(pool.map(({ action }) => action)).toEqual(['initial', 'refine']);
    expect(pool[1]!.text).toBe('<think>Short.</think><answer>\\boxed{Ada}</answer>');
    expect(rounds).toEqual([
      { round: 1, parent: 0, branch: 'correct', dropped: ['rerollout', 'redundancy'] },
    ]);
  });

  test('gives a wrong parent the whole hint and keeps an unfinished one', async () => {
    const asked: CompletionRequest[] = [];
    const replies = { '0/initial': [WRONG, ''], '1/locate': ['Step: 1'], '1/new-step': ['x'] };
    await flywheel(question, { ...options(replies, asked), hints: { qa: [' Wait.'], math: [''] } });
    const started = `\n\n${WRONG}<result></result><think> Wait.`;
    const hinted = asked.filter(({ name }) => name.endsWith('-hint-continue'));
    expect(hinted.map(({ continuation }) => continuation)).toEqual([started, started]);
  });

  test('takes the best parent that was not used yet', async () => {
    const { rounds } = await flywheel(question, {
      ...options({
        '0/initial': [RIGHT],
        '1/refine': ['a</think>'],
        '2/refine': ['b</think>'],
        '3/refine': ['c</think>'],
      }),
      rounds: 3,
    });
    expect(rounds.map(({ parent }) => parent)).toEqual([0, 1, 2]);
  });

  test('fails when the critic never answers, so that the question can be recorded as failed', async () => {
    const replies = { '0/initial': [RIGHT], '1/refine': [null] };
    await expect(flywheel(question, options(replies))).rejects.toThrow('no thinking');
  });
});

test('of equally good candidates the one with fewer calls is first, and the best of all once all were used', () => {
  const pool = [
    { text: '<search>a</search>', score: 1 },
    { text: '', score: 1 },
    { text: '', score: 0 },
  ];
  expect(selectParent(pool, new Set())).toBe(1);
  expect(selectParent(pool, new Set([1]))).toBe(0);
  expect(selectParent(pool, new Set([0, 1, 2]))).toBe(1);
});
