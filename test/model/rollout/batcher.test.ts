import { describe, expect, it } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import type { GenerateRequest } from '../../../model/engine.ts';
import { Batcher } from '../../../model/rollout/batcher.ts';
import type { RowResult } from '../../../model/rollout/row.ts';
import { expected, FakeForward, request, VOCAB } from './fakeForward.ts';

const CONTEXT_MAX = 200;

function batcher(forward: FakeForward, rowsMax: number, prefixSlots = 8): Batcher {
  return new Batcher(forward, 0, { rowsMax, contextMax: CONTEXT_MAX, prefixSlots });
}

/** Run until all requests have ended; `next` may submit more. */
async function finish(
  run: Batcher,
  next: (id: number, result: RowResult) => void = () => undefined,
): Promise<Map<number, RowResult>> {
  const results = new Map<number, RowResult>();
  while (run.busy) {
    await run.admit();
    for (const outcome of await run.step()) {
      if ('error' in outcome) throw new Error(outcome.error);
      results.set(outcome.id, outcome.result);
      next(outcome.id, outcome.result);
    }
  }
  return results;
}

function sameAsAlone(made: RowResult | undefined, asked: GenerateRequest): void {
  const wanted = expected(asked, CONTEXT_MAX);
  expect([...made!.tokens]).toEqual(wanted.tokens);
  expect([...made!.logProbs]).toEqual(wanted.logProbs);
}

/** Conversations: a few shared prompts, each continued for some turns by what was generated and a result. */
function conversations(seed: number) {
  const random = draws('conversations', seed);
  const tokens = (key: number, length: number) =>
    Array.from({ length }, (_, i) => random.under(key).integer(i, VOCAB));
  const first = (id: number) =>
    request(tokens(id % 3, 1 + random.integer(id % 3, 70)), {
      maxTokens: 1 + random.integer(100 + id, 12),
      temperature: [0, 0.7, 1][id % 3]!,
      stopTokens: [id % VOCAB],
      draws: [seed, id],
    });
  const next = (id: number, before: GenerateRequest, made: Int32Array) =>
    request([...before.tokens, ...made, ...tokens(1000 + id, random.integer(200 + id, 20))], {
      maxTokens: 6,
      draws: [seed, id],
    });
  return { first, next, random };
}

describe('Batcher', () => {
  it('serves waiting requests by priority, then by arrival', async () => {
    const run = batcher(new FakeForward(0, 1), 1);
    const served: number[] = [];
    for (const [id, priority] of [2, undefined, 1, 2, -1, 1].entries()) {
      const asked = request([1 + id], { maxTokens: 1, stopTokens: [], draws: [id] });
      run.submit(id, priority === undefined ? asked : { ...asked, priority });
    }
    await finish(run, (id) => served.push(id));
    expect(served).toEqual([4, 1, 2, 5, 0, 3]);
  });

  it.each([1, 2, 3, 4])(
    'gives a request the same result as alone, over random turns and cancellations (%p)',
    async (seed) => {
      const { first, next, random } = conversations(seed);
      const run = batcher(
        new FakeForward(0, seed),
        1 + random.integer(300, 7),
        random.integer(301, 10),
      );
      const asked = new Map<number, GenerateRequest>();
      const submit = (id: number, what: GenerateRequest) => {
        asked.set(id, what);
        run.submit(id, what);
      };
      for (let id = 0; id < 24; id++) submit(id, first(id));
      const cancelled = new Set([3, 11, 17]);
      const results = await finish(run, (id, { tokens }) => {
        for (const victim of cancelled) run.cancel(victim);
        const context = asked.get(id)!.tokens.length + tokens.length;
        if (id < 72 && context < CONTEXT_MAX - 30)
          submit(id + 24, next(id, asked.get(id)!, tokens));
      });
      expect(results.size).toBeGreaterThan(60);
      for (const [id, result] of results) sameAsAlone(result, asked.get(id)!);
    },
  );

  it('replaces a finished row at once', async () => {
    const forward = new FakeForward();
    const run = batcher(forward, 2);
    run.submit(0, request([1], { maxTokens: 9 }));
    for (let id = 1; id < 4; id++) run.submit(id, request([1 + id], { maxTokens: 3 }));
    await finish(run);
    expect(forward.calls.filter(({ pass }) => pass === 'decode').map(({ rows }) => rows)).toEqual(
      Array(9).fill(2),
    );
  });

  it('computes a prompt that a group shares once', async () => {
    const run = batcher(new FakeForward(), 8);
    const prompt = Array.from({ length: 41 }, (_, i) => i % VOCAB);
    for (let id = 0; id < 8; id++) run.submit(id, request(prompt, { draws: [id] }));
    await finish(run);
    expect(run.counts).toMatchObject({ prefillTokens: 40, reusedTokens: 7 * 40 });
  });

  it('computes only what a next turn adds, and nothing that a branch shares with its parent', async () => {
    const run = batcher(new FakeForward(), 2);
    const prompt = Array.from({ length: 30 }, (_, i) => (i * 5) % VOCAB);
    run.submit(0, request(prompt, { maxTokens: 10 }));
    const { tokens } = (await finish(run)).get(0)!;
    const before = run.counts.prefillTokens;
    run.submit(1, request([...prompt, ...tokens, 1, 2, 3]));
    await finish(run);
    // the last token made was never pushed through the model; the last token of a context goes with the first
    // step
    expect(run.counts.prefillTokens - before).toBe(3);
    run.submit(2, request([...prompt, ...tokens.subarray(0, 5)], { draws: ['branch'] }));
    await finish(run);
    expect(run.counts.prefillTokens - before).toBe(3);
  });

  it('computes everything when reuse is off', async () => {
    const run = batcher(new FakeForward(), 4, 0);
    const prompt = Array.from({ length: 20 }, (_, i) => i % VOCAB);
    for (let id = 0; id < 4; id++) run.submit(id, request(prompt));
    await finish(run);
    expect(run.counts).toMatchObject({ prefillTokens: 4 * 19, reusedTokens: 0 });
  });

  it('computes a long prompt in parts, and a batch of them in bounded parts', async () => {
    const forward = new FakeForward();
    const run = new Batcher(forward, 0, { rowsMax: 20, contextMax: 400, prefixSlots: 0 });
    const asked = Array.from({ length: 20 }, (_, id) =>
      request(Array(300).fill(id % VOCAB), { maxTokens: 2 }),
    );
    asked.forEach((what, id) => void run.submit(id, what));
    const results = await finish(run);
    for (const [id, what] of asked.entries()) {
      expect([...results.get(id)!.tokens]).toEqual(expected(what, 400).tokens);
    }
    expect(Math.max(...forward.calls.map(({ rows, width }) => rows * width))).toBeLessThanOrEqual(
      2048,
    );
  });

  it('ends a row at a stop token, at its maximum, and at the longest context', async () => {
    const run = batcher(new FakeForward(), 3);
    const every = Array.from({ length: VOCAB }, (_, token) => token);
    run.submit(0, request([1], { stopTokens: every }));
    run.submit(1, request([1], { maxTokens: 5 }));
    run.submit(2, request(Array(CONTEXT_MAX - 2).fill(1)));
    const results = await finish(run);
    const ends = [0, 1, 2].map((id) => [results.get(id)!.finish, results.get(id)!.tokens.length]);
    expect(ends).toEqual([
      ['stop', 1],
      ['length', 5],
      ['length', 2],
    ]);
  });

  it('returns top log-probs for as many first tokens as requested', async () => {
    const run = batcher(new FakeForward(), 1);
    run.submit(0, request([1], { maxTokens: 5, topLogProbs: 3 }));
    const { topLogProbs } = (await finish(run)).get(0)!;
    expect(topLogProbs.map((top) => top.length >= 10)).toEqual([true, true, true]);
  });

  it('keeps no state of a policy that gave NaN', async () => {
    const broken = new FakeForward();
    const prefill = broken.prefill.bind(broken);
    broken.prefill = async (input) => {
      const output = await prefill(input);
      for (const array of [...output.keys, ...output.values]) array.fill(Number.NaN);
      return output;
    };
    const run = batcher(broken, 4);
    const asked = [0, 1, 2, 3].map((id) => request(Array(20 + id).fill(id + 1), { maxTokens: 5 }));
    asked.forEach((what, id) => void run.submit(id, what));
    await run.admit();
    const next = new FakeForward();
    const decode = next.decode.bind(next);
    next.decode = (input) => {
      const fed = [...input.keys, ...input.values];
      expect(fed.every((array) => array.every(Number.isFinite))).toBe(true);
      return decode(input);
    };
    run.replace(next, 1);
    const results = await finish(run);
    asked.forEach((what, id) => void sameAsAlone(results.get(id), what));
  });

  it('fails only the request whose probabilities are not numbers', async () => {
    const forward = new FakeForward();
    const decode = forward.decode.bind(forward);
    forward.decode = async (input) => {
      const output = await decode(input);
      output.shares.fill(Number.NaN, VOCAB);
      return output;
    };
    const run = batcher(forward, 2);
    for (let id = 0; id < 2; id++) run.submit(id, request([id], { maxTokens: 1 }));
    await run.admit();
    const outcomes = await run.step();
    expect(outcomes.map((outcome) => 'error' in outcome)).toEqual([false, true]);
  });
});
