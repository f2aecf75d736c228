import { describe, expect, test } from '@jest/globals';
import { concat, lastValueFrom, NEVER, of, toArray } from 'rxjs';
import { MillraceError } from '../../base/errors.ts';
import type { CompletionRequest } from '../../operators/evolve/models.ts';
import { type EvolveOptions, evolve } from '../../operators/evolve.ts';
import type { PolicyGate } from '../../operators/gate.ts';
import { fakeReader, runOperator } from '../../testing/runOperator.ts';
import { shuffledTurns } from '../../testing/scriptedPolicy.ts';
import { type Question, topics } from '../../topics/index.ts';
import { obeysOperatorLaws } from '../support/laws.ts';
import { question as record } from '../support/records.ts';
import { openGate } from '../support/rolloutOptions.ts';

const ask = (id: string): Question =>
  record({ id, question: `Who is ${id}?`, answers: ['Ada'], ability: 'qa', phase: 'evolve' });
const questions = ['q1', 'q2', 'q3'].map(ask);

/** A policy that searches and is right from the second search on, a critic that blames the first step. */
function reply({ role, name, continuation }: CompletionRequest): string {
  if (role !== 'policy') return name.endsWith('/locate') ? 'Step: 1' : 'look <search>b</search>';
  const searches = continuation.split('</search>').length - 1;
  if (searches === 0) return '<think>a</think><search>a</search>';
  return `<think>c</think><answer>\\boxed{${searches > 1 || continuation.includes('>b<') ? 'Ada' : 'Bob'}}</answer>`;
}

function options(over: Partial<EvolveOptions> = {}): EvolveOptions {
  return {
    models: async (request) => reply(request),
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
    gate: openGate,
    rounds: 2,
    quotas: { python: 3, search: 3 },
    seed: 7,
    concurrency: 2,
    ...over,
  };
}

obeysOperatorLaws('evolve', () => evolve(options()), {
  topic: topics.questions,
  values: questions,
});

describe('evolve', () => {
  test('turns a question into its pool and its tool calls, in one commit', async () => {
    const run = await runOperator(evolve(options()), topics.questions, [questions[0]!]);
    const pool = run.outputs;
    expect(pool.map(({ index, of }) => [index, of])).toEqual(
      pool.map((_, index) => [index, pool.length]),
    );
    expect(pool[0]).toMatchObject({ action: 'initial', parent: -1, correct: false, toolCalls: 1 });
    expect(pool).toContainEqual(
      expect.objectContaining({ action: 'self-correct', round: 1, parent: 0, correct: true }),
    );
    expect(run.commits).toHaveLength(1);
    expect(run.sideRecords['tool-calls']).toContainEqual(
      expect.objectContaining({
        rolloutId: 'q1/evolve-0/1/self-correct',
        questionId: 'q1',
        turn: 0,
        input: 'b',
        output: 'found b',
      }),
    );
  });

  test('gives the same records whatever finishes first', async () => {
    const byId = async (seed: number) => {
      const delay = shuffledTurns(seed);
      const models = async (request: CompletionRequest) => {
        await delay();
        return reply(request);
      };
      const run = await runOperator(evolve(options({ models })), topics.questions, questions);
      const records = run.outputs.map((one) => [`${one.question.id}/${one.index}`, one] as const);
      return [Object.fromEntries(records), [...run.sideRecords['tool-calls']!].map(key).sort()];
    };
    const key = (call: unknown) => JSON.stringify(call);
    expect(await byId(1)).toEqual(await byId(2));
  });

  test('keys every request by seed, question, name and attempt', async () => {
    const keys: string[] = [];
    const models = async (request: CompletionRequest) => {
      if (request.role === 'policy') keys.push(JSON.stringify(request.draws));
      return request.role === 'policy' ? null : reply(request);
    };
    await runOperator(evolve(options({ models, rounds: 0 })), topics.questions, questions);
    const expected = questions.flatMap(({ id }) =>
      [0, 1, 2, 3].map((attempt) => JSON.stringify([7, id, 'evolve', 0, '0/initial', attempt])),
    );
    expect(keys.sort()).toEqual(expected.sort());
  });

  test('makes a failed record and a dead letter of a question without a trajectory', async () => {
    const models = () => Promise.reject(new Error('the server is gone'));
    const run = await runOperator(evolve(options({ models })), topics.questions, questions);
    expect(run.outputs.map(({ action, text, of }) => [action, text, of])).toEqual(
      Array(3).fill(['failed', 'the server is gone', 1]),
    );
    expect(run.sideRecords['dead-letters']).toHaveLength(3);
    expect(run.unsettled).toBe(0);
  });

  test('records which requests got no answer, and a replay makes the same pool of models that answer', async () => {
    const models: EvolveOptions['models'] = async (request) => {
      if (request.name === '1/locate') throw new Error('no reply to 4 requests');
      const gaveUp = request.name === '0/initial' && request.draws.at(-1) === 0;
      return gaveUp && request.continuation !== '' ? null : reply(request);
    };
    const made = await runOperator(evolve(options({ models })), topics.questions, questions);
    const [first, ...others] = made.outputs.filter(({ question: { id } }) => id === 'q2');
    expect(first?.unanswered).toEqual([
      { request: '0/initial#1', reason: '' },
      { request: '1/locate#0', reason: 'no reply to 4 requests' },
    ]);
    expect(others.flatMap(({ unanswered }) => unanswered)).toEqual([]);

    const recorded: EvolveOptions['recorded'] = ({ id }) =>
      made.outputs.find(({ question, index }) => question.id === id && index === 0)?.unanswered ??
      [];
    const again = async (over: Partial<EvolveOptions>) =>
      runOperator(evolve(options(over)), topics.questions, questions);
    const replayed = await again({ recorded });
    expect(replayed.outputs).toEqual(made.outputs);
    expect(replayed.sideRecords).toEqual(made.sideRecords);
    expect((await again({})).outputs).not.toEqual(made.outputs);
  });

  test('writes the tool calls that failed into the text as failed', async () => {
    const tools: EvolveOptions['tools'] = {
      tags: ['search', 'python'],
      call: async () => ({ output: 'gone', ok: false, attempts: 1, cached: false, ms: 0 }),
    };
    const run = await runOperator(
      evolve(options({ tools, rounds: 0 })),
      topics.questions,
      questions,
    );
    expect(run.outputs[0]!.text).toContain('<result>Tool execute failed: gone</result>');
    expect(run.sideRecords['tool-calls']![0]).toMatchObject({ output: 'gone', ok: false });
  });

  test('records the policy version of the gate, and releases each question', async () => {
    let inside = 0;
    const gate: PolicyGate = {
      ...openGate,
      version: 5,
      admission: () => ({
        admit: async () => {
          inside++;
          return () => void inside--;
        },
      }),
    };
    const run = await runOperator(evolve(options({ gate })), topics.questions, questions);
    expect(new Set(run.outputs.map(({ version }) => version))).toEqual(new Set([5]));
    expect(inside).toBe(0);
  });

  test('leaves a question for the next start when the run is stopping', async () => {
    const stop = new AbortController();
    let asked = 0;
    const models = async (request: CompletionRequest) => {
      if (++asked === 2) stop.abort();
      return reply(request);
    };
    const reader = fakeReader(topics.questions, 9, stop.signal);
    const operator = evolve(options({ models, concurrency: 1 }));
    const source$ = of(...questions.map((question) => reader.deliver(question)));
    expect(await lastValueFrom(source$.pipe(operator, toArray()))).toEqual([]);
    expect(asked).toBe(2);
    expect([reader.unsettled(), reader.owner.waiting.total]).toEqual([3, 3]);
  });

  test('stops asking once it is unsubscribed', async () => {
    const seen: AbortSignal[] = [];
    const models = (_: CompletionRequest, signal: AbortSignal) => {
      seen.push(signal);
      return new Promise<string>((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason)),
      );
    };
    const reader = fakeReader(topics.questions);
    const cut = concat(of(reader.deliver(questions[0]!)), NEVER)
      .pipe(evolve(options({ models })))
      .subscribe();
    await shuffledTurns(2, 1)();
    cut.unsubscribe();
    await shuffledTurns(3, 6)();
    expect(seen.map(({ aborted }) => aborted)).toEqual([true]);
    expect(reader.unsettled()).toBe(1);
  });

  test('ends with the error of a gate that has failed', async () => {
    const admit = () => Promise.reject(new Error('the digest differs'));
    const gate = { ...openGate, admission: () => ({ admit }) };
    const run = runOperator(evolve(options({ gate })), topics.questions, questions);
    await expect(run).rejects.toThrow('the digest differs');
  });

  test('ends with the error of a model that is permanently down', async () => {
    const models = () => Promise.reject(new MillraceError('MODEL_REFUSED', 'the key is wrong'));
    const run = runOperator(evolve(options({ models })), topics.questions, questions);
    await expect(run).rejects.toThrow('the key is wrong');
  });

  test('refuses two actions of one name', () => {
    const action = { name: 'initial', on: 'correct', apply: async () => null } as const;
    expect(() => evolve(options({ actions: [action] }))).toThrow(MillraceError);
    const mine = { ...action, name: 'mine' };
    expect(() => evolve(options({ actions: [mine, mine] }))).toThrow('named mine');
  });
});
