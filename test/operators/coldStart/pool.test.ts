import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '../../../base/errors.ts';
import type { ColdStartHints } from '../../../operators/coldStart/hints.ts';
import { type ColdStartOptions, coldStartPool } from '../../../operators/coldStart/pool.ts';
import type { CompletionRequest } from '../../../operators/evolve/models.ts';
import { type EvolveOptions, evolve } from '../../../operators/evolve.ts';
import { runOperator } from '../../../testing/runOperator.ts';
import { topics } from '../../../topics/index.ts';
import { obeysOperatorLaws } from '../../support/laws.ts';
import { question as record } from '../../support/records.ts';

const asked = record({
  id: 'q1',
  question: 'Who?',
  answers: ['Ada'],
  ability: 'qa',
  phase: 'evolve',
  round: 1,
});
const hints: ColdStartHints = {
  verify: { math: ['VERIFY '], qa: ['VERIFY '] },
  reflect: { math: ['REFLECT '], qa: ['REFLECT '] },
  uncertain: ['maybe'],
};
const said = (name: string): string => `<answer>\\boxed{${name}}</answer>`;
type Script = (request: CompletionRequest) => string | null;

/** Guesses Bob when it is to answer directly; finds Ada by a search. */
const guesser: Script = ({ name, continuation }) => {
  if (continuation.endsWith('</result>')) return `<think>So</think>${said('Ada')}`;
  if (name.endsWith('direct')) return `<think>It is maybe Bob.</think>${said('Bob')}`;
  if (continuation.endsWith('VERIFY ')) return 'I search.</think><search>v</search>';
  if (continuation.endsWith('REFLECT ')) return 'I search.</think><search>r</search>';
  return '<think>I search.</think><search>t</search>';
};

async function poolOf(
  script: Script,
  options: ColdStartOptions = {},
  over: Partial<EvolveOptions> = {},
) {
  const requests: CompletionRequest[] = [];
  const operator = evolve({
    models: async (request) => {
      requests.push(request);
      return script(request);
    },
    tools: {
      tags: ['search', 'python'],
      call: async (_, input) => ({
        output: `found ${input}`,
        ok: true,
        attempts: 1,
        cached: false,
        ms: 0,
      }),
    },
    grow: coldStartPool({ hints, ...options }),
    rounds: 0,
    quotas: { search: 2, python: 2 },
    seed: 7,
    concurrency: 2,
    ...over,
  });
  const run = await runOperator(operator, topics.questions, [asked]);
  return { pool: run.outputs, requests, sideRecords: run.sideRecords };
}

obeysOperatorLaws(
  'evolve with a cold start',
  () =>
    evolve({
      models: async (request) => guesser(request),
      tools: { tags: ['search'], call: () => Promise.reject(new Error('no tools')) },
      grow: coldStartPool({ hints }),
      rounds: 0,
      quotas: { search: 2 },
      seed: 7,
      concurrency: 2,
    }),
  { topic: topics.questions, values: [asked, { ...asked, id: 'q2' }] },
);

describe('a cold start', () => {
  test('makes direct answers, tool-integrated ones, and hinted ones of the direct chain', async () => {
    const { pool } = await poolOf(guesser);
    expect(
      pool.map(({ action, round, parent, correct, toolCalls }) => [
        ...[action, round, parent, correct, toolCalls],
      ]),
    ).toEqual([
      ['direct', 0, -1, false, 0],
      ['tools', 0, -1, true, 1],
      ['tools', 0, -1, true, 1],
      ['tools', 0, -1, true, 1],
      ['verify-hint', 1, 0, true, 1],
      ['reflect-hint', 1, 0, true, 1],
    ]);
    expect(pool[4]!.text).toBe(
      `<think>It is maybe Bob.VERIFY I search.</think><search>v</search><result>found v</result><think>So</think>${said('Ada')}`,
    );
    expect(pool[5]!.text).toContain('It is maybe Bob.\\boxed{Bob}REFLECT I search.</think>');
  });

  test('stops a direct answer before a call and makes it answer', async () => {
    const script: Script = ({ continuation, name }) => {
      if (continuation.endsWith('\\boxed{')) return 'Ada}</answer>';
      return name.endsWith('direct') ? '<think>I search.</think> <search>t</search>' : '';
    };
    const { pool, sideRecords, requests } = await poolOf(script, { tools: 0 });
    expect(pool[0]).toMatchObject({
      action: 'direct',
      correct: true,
      toolCalls: 0,
      text: `<think>I search.</think>${said('Ada')}`,
    });
    expect(sideRecords['tool-calls']).toBeUndefined();
    // A request may end where a call would be made.
    expect(requests[0]!.stop).toContain('</search>');
  });

  test('closes the thought of a direct answer that calls in the middle of it', async () => {
    const script: Script = ({ continuation }) =>
      continuation.endsWith('\\boxed{') ? 'Ada}</answer>' : '<think>Hm <python>1</python>';
    const { pool } = await poolOf(script, { tools: 0, hints: null });
    expect(pool.map(({ text }) => text)).toEqual([`<think>Hm</think>${said('Ada')}`]);
  });

  test('hints no chain that has no place for it', async () => {
    const sure: Script = (request) =>
      request.name.endsWith('direct') ? '<think>It is Bob.</think>' : guesser(request);
    const { pool } = await poolOf(sure, { tools: 1 });
    expect(pool.map(({ action }) => action)).toEqual(['direct', 'tools']);
  });

  test('asks in its own words and names every request', async () => {
    const ask = {
      direct: (q: string) => `${q} No tools.`,
      tools: (q: string) => `${q} Use tools.`,
    };
    const { requests } = await poolOf(guesser, { ask, direct: 2 });
    const first = requests.filter(({ continuation }) => continuation === '');
    expect(first.map(({ name, prompt }) => [name, prompt])).toEqual([
      ['0/direct', 'Who? No tools.'],
      ['0.1/direct', 'Who? No tools.'],
      ['0/tools', 'Who? Use tools.'],
      ['0.1/tools', 'Who? Use tools.'],
      ['0.2/tools', 'Who? Use tools.'],
    ]);
    const hinted = requests.filter(({ name }) => name.startsWith('1'));
    expect([...new Set(hinted.map(({ name }) => name))].sort()).toEqual([
      ...['1.1/reflect-hint-continue', '1.1/verify-hint-continue'],
      ...['1/reflect-hint-continue', '1/verify-hint-continue'],
    ]);
    expect(requests[0]!.draws).toEqual([7, 'q1', 'evolve', 1, '0/direct', 0]);
  });

  test('records the calls of each trajectory', async () => {
    const { sideRecords } = await poolOf(guesser);
    const calls = sideRecords['tool-calls'] as { rolloutId: string; input: string }[];
    expect(calls.map(({ rolloutId, input }) => [rolloutId, input])).toEqual([
      ['q1/evolve-1/0.1/tools', 't'],
      ['q1/evolve-1/0.2/tools', 't'],
      ['q1/evolve-1/0/tools', 't'],
      ['q1/evolve-1/1/reflect-hint', 'r'],
      ['q1/evolve-1/1/verify-hint', 'v'],
    ]);
  });

  test('drops what fails, with a reason, and keeps the rest', async () => {
    const failing: Script = (request) => {
      if (request.name === '0.1/tools') throw new Error('no more');
      return guesser(request);
    };
    const { pool, sideRecords } = await poolOf(failing, { hints: null });
    expect(pool.map(({ action }) => action)).toEqual(['direct', 'tools', 'tools']);
    expect(sideRecords['dead-letters']).toEqual([
      expect.objectContaining({ key: 'q1', field: '0/tools', reason: 'no more' }),
    ]);
  });

  test('makes one failed record if everything failed', async () => {
    const { pool } = await poolOf(() => {
      throw new Error('no more');
    });
    expect(pool.map(({ action, text }) => [action, text])).toEqual([['failed', 'no more']]);
  });

  test('ends with the error of a model that is permanently down', async () => {
    const run = poolOf(() => {
      throw new MillraceError('MODEL_REFUSED', 'the key is wrong');
    });
    await expect(run).rejects.toThrow('the key is wrong');
  });

  test('accepts another judge', async () => {
    const { pool } = await poolOf(guesser, { isRight: (_, text) => text.includes('Bob') });
    expect(pool[0]!.correct).toBe(true);
  });
});
