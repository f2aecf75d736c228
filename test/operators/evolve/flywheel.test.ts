import { describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import type { EvolveAction } from '../../../operators/evolve/action.ts';
import { defaultActions } from '../../../operators/evolve/actions.ts';
import type { FlywheelOptions } from '../../../operators/evolve/context.ts';
import { flywheel } from '../../../operators/evolve/flywheel.ts';
import type { CompletionRequest } from '../../../operators/evolve/models.ts';
import { loadPrompts } from '../../../operators/evolve/prompts.ts';
import { selectParents } from '../../../operators/evolve/select.ts';
import { paperTools } from '../../support/paperTools.ts';
import { question as record } from '../../support/records.ts';

const question = record({ id: 'q1', question: 'Who?', answers: ['Ada'], ability: 'qa' });
const RIGHT = '<think>a</think><answer>\\boxed{Ada}</answer>';
const WRONG = '<think>b</think><search>x</search>';

/** Models that reply by request name (the last reply repeats), tools that find nothing. */
function options(
  replies: Readonly<Record<string, readonly (string | null)[]>>,
  asked: CompletionRequest[] = [],
): FlywheelOptions {
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
    key: ['test'],
    prompts: loadPrompts(),
    actions: defaultActions,
    signal: new AbortController().signal,
  };
}

describe('flywheel', () => {
  test('keeps the first trajectory alone when there are no rounds', async () => {
    const { pool, turns } = await flywheel(question, {
      ...options({ '0/initial': [RIGHT] }),
      rounds: 0,
    });
    expect(pool).toMatchObject([{ text: RIGHT, correct: true, parent: null, action: 'initial' }]);
    expect(turns).toEqual([]);
  });

  test('enhances a correct parent and drops what came to nothing', async () => {
    const { pool, turns } = await flywheel(
      question,
      options({
        '0/initial': [RIGHT],
        '1/redundancy': ['Step: no'],
        '1/refine': ['Short.</think>'],
      }),
    );
    expect(pool.map(({ action }) => action)).toEqual(['initial', 'refine']);
    expect(pool[1]!.text).toBe('<think>Short.</think><answer>\\boxed{Ada}</answer>');
    const dropped = [
      { action: 'rerollout', why: '' },
      { action: 'redundancy', why: '' },
    ];
    expect(turns).toEqual([{ round: 1, parent: 0, branch: 'correct', dropped }]);
  });

  test('gives a wrong parent the whole hint, keeps an unfinished one, and inserts nothing', async () => {
    const asked: CompletionRequest[] = [];
    const replies = { '0/initial': [WRONG, ''], '1/locate': ['Step: 1'], '1/new-step': ['x'] };
    await flywheel(question, { ...options(replies, asked), hints: { qa: [' Wait.'], math: [''] } });
    const started = `${WRONG}<result></result><think> Wait.`;
    const hinted = asked.filter(({ name }) => name.endsWith('-hint-continue'));
    expect(hinted.map(({ continuation }) => continuation)).toEqual([started, started]);
    expect(hinted.map(({ draws }) => draws)).toContainEqual(['test', '1/step-hint-continue', 0]);
  });

  test('asks for the faulty step once for all actions that need it', async () => {
    const asked: CompletionRequest[] = [];
    const nosy: EvolveAction = {
      name: 'nosy',
      on: 'incorrect',
      apply: async ({ locate }) => String(await locate()),
    };
    const { pool, turns } = await flywheel(question, {
      ...options({ '0/initial': [WRONG, ''], '1/locate': ['Step: 7'] }, asked),
      actions: [...defaultActions, nosy],
    });
    expect(asked.filter(({ name }) => name === '1/locate')).toHaveLength(1);
    expect(turns[0]!.faultyStep).toBe(7);
    expect(pool.at(-1)).toMatchObject({ action: 'nosy', text: '7' });
  });

  test('takes the best parent that was not used yet', async () => {
    const { turns } = await flywheel(question, {
      ...options({
        '0/initial': [RIGHT],
        '1/refine': ['a</think>'],
        '2/refine': ['b</think>'],
        '3/refine': ['c</think>'],
      }),
      rounds: 3,
    });
    expect(turns.map(({ parent }) => parent)).toEqual([0, 1, 2]);
  });

  test('evolves the configured number of first trajectories and parents, each with its own name', async () => {
    const asked: CompletionRequest[] = [];
    const { pool, turns } = await flywheel(question, {
      ...options({ '0/initial': [RIGHT], '0.1/initial': [WRONG, ''] }, asked),
      initial: 2,
      parents: 2,
    });
    expect(pool.slice(0, 2).map(({ correct }) => correct)).toEqual([true, false]);
    expect(turns.map(({ parent, branch }) => [parent, branch])).toEqual([
      [0, 'correct'],
      [1, 'incorrect'],
    ]);
    expect(asked.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['1/refine', '1.1/locate']),
    );
  });

  test('cuts away a result that the policy writes itself', async () => {
    const invented = '<think>a</think> <result>b</result><answer>\\boxed{Ada}</answer>';
    const { pool } = await flywheel(question, {
      ...options({ '0/initial': [invented, ''] }),
      rounds: 0,
    });
    expect(pool[0]!.text).toBe('<think>a</think>');
  });

  test('drops an action that fails, and says why', async () => {
    const failing: EvolveAction = {
      name: 'failing',
      on: 'correct',
      apply: () => Promise.reject(new Error('no power')),
    };
    const { pool, turns, failure } = await flywheel(question, {
      ...options({ '0/initial': [RIGHT] }),
      actions: [failing],
    });
    expect(pool).toHaveLength(1);
    expect(turns[0]!.dropped).toEqual([{ action: 'failing', why: 'no power' }]);
    expect(failure).toBeNull();
  });

  test('rejects in reference mode when the critic gives no thinking', async () => {
    const replies = { '0/initial': [RIGHT], '1/refine': [null] };
    await expect(flywheel(question, { ...options(replies), mode: 'reference' })).rejects.toThrow(
      'no thinking',
    );
    const { turns } = await flywheel(question, options(replies));
    expect(turns[0]!.dropped).toContainEqual({ action: 'refine', why: '' });
  });

  test('keeps the pool so far if a model fails outside an action', async () => {
    const math = { ...question, ability: 'math' as const };
    const { complete, ...rest } = options({ '0/initial': [RIGHT], 'judge/0': ['Correct'] });
    const run = await flywheel(math, {
      ...rest,
      complete: (request, signal) =>
        request.name === 'judge/1'
          ? Promise.reject(new Error('the judge is ill'))
          : complete(request, signal),
    });
    expect(run.pool.map(({ action }) => action)).toEqual(['initial']);
    expect(run.failure).toBe('the judge is ill');
  });
});

test('among equally good parents the one with fewer calls comes first, and the best of all once all were used', () => {
  const pool = [
    { text: '<search>a</search>', score: 1 },
    { text: '', score: 1 },
    { text: '', score: 0 },
  ];
  expect(selectParents(pool, new Set(), 1, paperTools)).toEqual([1]);
  expect(selectParents(pool, new Set([1]), 5, paperTools)).toEqual([0, 2]);
  expect(selectParents(pool, new Set([0, 1, 2]), 5, paperTools)).toEqual([1]);
});
