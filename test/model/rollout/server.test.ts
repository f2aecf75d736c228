import { describe, expect, it } from '@jest/globals';
import type { Checkpoint } from '../../../model/engine.ts';
import { RolloutServer, type ServerOptions } from '../../../model/rollout/server.ts';
import { expected, FakeForward, request } from './fakeForward.ts';

const OPTIONS = { rowsMax: 2, contextMax: 64, prefixSlots: 4, swap: 'rollout' } as const;
const weights = (version: number): Checkpoint => ({ version, uri: `/${version}`, digest: null });

/** A server whose model of version v hashes with salt v; version 13 cannot be opened. */
async function start(more: Partial<ServerOptions> = {}) {
  const models: FakeForward[] = [];
  const open = async ({ version }: Checkpoint) => {
    if (version === 13) throw new Error('digest differs');
    models.push(new FakeForward(version));
    return models.at(-1)!;
  };
  return { models, server: await RolloutServer.start(open, { ...OPTIONS, ...more }, weights(0)) };
}

describe('RolloutServer', () => {
  it('finishes active rows on the old weights and serves waiting requests with the new', async () => {
    const { models, server } = await start();
    const asked = [0, 1, 2, 3].map((id) => request([1, 2, 3], { maxTokens: 4 + id, draws: [id] }));
    const first = server.generate(0, asked[0]!);
    while (models[0]!.calls.length < 3) await new Promise(setImmediate);
    const loaded = server.load(weights(7));
    const later = asked.slice(1).map((what, i) => server.generate(1 + i, what));
    const made = await Promise.all([first, ...later]);
    await loaded;
    expect(made.map(({ version }) => version)).toEqual([0, 7, 7, 7]);
    made.forEach(({ tokens, version }, i) => {
      expect([...tokens]).toEqual(expected(asked[i]!, 64, version).tokens);
    });
    expect(models.map(({ released }) => released)).toEqual([true, false]);
    await server.close();
  });

  it('keeps the policy it has when the new one cannot be opened', async () => {
    const { server } = await start();
    await expect(server.load(weights(13))).rejects.toThrow('digest differs');
    expect((await server.generate(0, request([1]))).version).toBe(0);
    await server.close();
  });

  it('forgets a cancelled request and goes on with the others', async () => {
    const { server } = await start();
    const all = [0, 1, 2].map((id) => server.generate(id, request([id], { draws: [id] })));
    const failed = expect(all[1]).rejects.toThrow('cancelled');
    server.cancel(1);
    await failed;
    expect([...(await all[2]!).tokens]).toEqual(expected(request([2], { draws: [2] }), 64).tokens);
    await all[0];
    await server.close();
  });

  it('fails the requests of a step in which the model fails, and serves later ones', async () => {
    const { models, server } = await start();
    models[0]!.failure = new Error('out of memory');
    await expect(server.generate(0, request([1]))).rejects.toThrow(
      'the model failed: out of memory',
    );
    models[0]!.failure = undefined;
    expect((await server.generate(1, request([1]))).tokens.length).toBe(8);
    await server.close();
  });

  it('rejects what is pending when it is closed, and gives the model back', async () => {
    const { models, server } = await start();
    const pending = [0, 1, 2].map((id) => server.generate(id, request([1], { maxTokens: 60 })));
    while (models[0]!.calls.length < 3) await new Promise(setImmediate);
    const settled = Promise.allSettled([...pending, server.load(weights(1))]);
    await server.close();
    for (const { status } of await settled) expect(status).toBe('rejected');
    expect(models[0]!.released).toBe(true);
  });

  it('wakes for a request that immediately follows an answer', async () => {
    const { server } = await start();
    for (let id = 0; id < 20; id++) await server.generate(id, request([id % 5], { maxTokens: 1 }));
    expect(server.counts.generatedTokens).toBe(20);
    await server.close();
  });

  it('swaps at a token boundary: each span is what its version computes without a cache', async () => {
    const { models, server } = await start({ swap: 'token' });
    const asked = [0, 1, 2].map((id) => request([1, 2, id], { maxTokens: 30, draws: [id] }));
    const all = asked.map((what, id) => server.generate(id, what));
    while (models[0]!.calls.length < 6) await new Promise(setImmediate);
    await server.load(weights(5));
    while (models[1]!.calls.length < 6) await new Promise(setImmediate);
    await server.load(weights(6));
    const made = await Promise.all(all);
    expect(made[0]!.spans!.map(({ version }) => version)).toEqual([0, 5, 6]);
    for (const [id, { tokens, logProbs, spans, version }] of made.entries()) {
      expect(version).toBe(spans![0]!.version);
      expect(spans!.map(({ start }) => start)).toEqual([
        0,
        ...spans!.slice(0, -1).map((s) => s.end),
      ]);
      expect(spans!.at(-1)!.end).toBe(30);
      for (const span of spans!) {
        const context = [...asked[id]!.tokens, ...tokens.subarray(0, span.start)];
        const rest = { ...asked[id]!, tokens: Int32Array.from(context) };
        const want = expected({ ...rest, maxTokens: span.end - span.start }, 64, span.version);
        expect([...tokens.subarray(span.start, span.end)]).toEqual(want.tokens);
        expect([...logProbs.subarray(span.start, span.end)]).toEqual(want.logProbs);
      }
    }
    expect(models.map(({ released }) => released)).toEqual([true, true, false]);
    await server.close();
  });

  it('goes on with the old model, when swapping at token boundaries, if the new one cannot be opened', async () => {
    const { models, server } = await start({ swap: 'token' });
    const pending = server.generate(0, request([1], { maxTokens: 20 }));
    while (models[0]!.calls.length < 3) await new Promise(setImmediate);
    await expect(server.load(weights(13))).rejects.toThrow('digest differs');
    expect((await pending).spans).toEqual([{ start: 0, end: 20, version: 0 }]);
    await server.close();
  });
});
