/**
 * Queries of many callers in batches: their bounds, their order, and what happens to callers that go away.
 */
import { expect, test } from '@jest/globals';
import { Batches, type BatchesOptions } from '../../../../operators/tools/retrieval/batches.ts';
import { gatedRetriever } from '../../../support/gatedRetriever.ts';

const signal = new AbortController().signal;

function world(over: Partial<BatchesOptions> = {}) {
  const retriever = gatedRetriever();
  const bounds = { batchMax: 3, batchesMax: 1, waitingMax: 6, keptMax: 0 };
  return { retriever, batches: new Batches(retriever, { ...bounds, ...over }) };
}

const ids = ({ hits }: { readonly hits: readonly (readonly { readonly id: string }[])[] }) =>
  hits.map((list) => list.map(({ id }) => id));

test('one query is answered at once, and those that arrive meanwhile are answered as a batch', async () => {
  const { retriever, batches } = world();
  retriever.hold();
  const first = batches.ask(['race'], 2, signal);
  const others = ['weir', 'program', 'river', 'wheel'].map((query) =>
    batches.ask([query], 2, signal),
  );
  expect([batches.running, batches.waiting]).toEqual([1, 4]);
  retriever.release();
  expect(ids(await first)).toEqual([['a']]);
  expect((await Promise.all(others)).map(ids)).toEqual([[['b']], [['c']], [['b']], [['a']]]);
  expect(retriever.calls.map(({ queries }) => queries)).toEqual([
    ['race'],
    ['weir', 'program', 'river'],
    ['wheel'],
  ]);
  expect([batches.running, batches.waiting]).toEqual([0, 0]);
});

test('queries for different numbers of passages are answered apart, the oldest first', async () => {
  const { retriever, batches } = world();
  retriever.hold();
  const asked = [
    batches.ask(['race'], 1, signal),
    batches.ask(['weir'], 1, signal),
    batches.ask(['water', 'program'], 5, signal),
    batches.ask(['river'], 1, signal),
  ];
  retriever.release();
  await Promise.all(asked);
  expect(retriever.calls).toEqual([
    { queries: ['race'], top: 1 },
    { queries: ['weir', 'river'], top: 1 },
    { queries: ['water', 'program'], top: 5 },
  ]);
});

test('a bounded number of batches runs at once', async () => {
  const { retriever, batches } = world({ batchesMax: 2, batchMax: 1 });
  retriever.hold();
  const asked = batches.ask(['race', 'weir', 'river'], 2, signal);
  expect([retriever.active, batches.waiting]).toEqual([2, 1]);
  retriever.release();
  expect(ids(await asked)).toEqual([['a'], ['b'], ['b']]);
});

test('queries beyond the queue are refused, a request as a whole', async () => {
  const { retriever, batches } = world();
  retriever.hold();
  const first = batches.ask(['race'], 2, signal);
  const waiting = batches.ask(['1', '2', '3', '4', '5'], 2, signal);
  await expect(batches.ask(['6', '7'], 2, signal)).rejects.toMatchObject({ code: 'BUSY' });
  expect(batches.waiting).toBe(5);
  const last = batches.ask(['6'], 2, signal);
  retriever.release();
  await Promise.all([first, waiting, last]);
});

test('a request larger than the queue is answered if the queue is empty', async () => {
  const { batches } = world({ waitingMax: 1 });
  expect(ids(await batches.ask(['race', 'weir', 'river'], 1, signal))).toEqual([
    ['a'],
    ['b'],
    ['b'],
  ]);
});

test('a query that is aborted leaves the queue, and a batch ends when all its callers are gone', async () => {
  const { retriever, batches } = world();
  retriever.hold();
  const [one, other] = [new AbortController(), new AbortController()];
  const running = batches.ask(['race'], 2, one.signal);
  const waiting = batches.ask(['weir', 'river'], 2, other.signal);
  other.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  expect(batches.waiting).toBe(0);
  one.abort(new Error('gone too'));
  await expect(running).rejects.toThrow();
  await new Promise((resolve) => setImmediate(resolve));
  expect([retriever.active, retriever.calls.length]).toEqual([0, 1]);
  retriever.release();
  expect(ids(await batches.ask(['program'], 1, signal))).toEqual([['c']]);
});

test('a failing batch fails only its own callers', async () => {
  const { retriever, batches } = world();
  retriever.failWith(new Error('no memory'));
  await expect(batches.ask(['race'], 2, signal)).rejects.toThrow('no memory');
  expect(ids(await batches.ask(['race'], 2, signal))).toEqual([['a']]);
});

test('answers are cached by query and number, and equal queries of a batch are asked once', async () => {
  const { retriever, batches } = world({ keptMax: 2 });
  expect((await batches.ask(['race', 'race'], 2, signal)).kept).toBe(0);
  expect(retriever.calls[0]!.queries).toEqual(['race']);
  const again = await batches.ask(['race', 'weir'], 2, signal);
  expect([again.kept, ids(again)]).toEqual([1, [['a'], ['b']]]);
  expect((await batches.ask(['race'], 1, signal)).kept).toBe(0);
  expect(retriever.calls).toHaveLength(3);
});
