import { expect, test } from '@jest/globals';
import { Graph } from '../../../model/graph/graph.ts';
import { graphRunner } from './graphRunner.ts';

function doubled(): Uint8Array {
  const graph = new Graph();
  const x = graph.input('x', 'float32', ['N']);
  graph.output('y', graph.node('Add', [x, x], ['N']));
  return graph.model();
}

test('a graph runs in a worker and its errors come back with their message', async () => {
  const runner = graphRunner();
  const session = await runner.open(doubled(), { threads: 1 });
  const x = { shape: [2], data: Float32Array.of(1, 2) };
  expect(await session.run({ x })).toEqual({ y: { shape: [2], data: Float32Array.of(2, 4) } });
  await expect(session.run({})).rejects.toThrow("input 'x' is missing");
  await session.release();
  await expect(session.run({ x })).rejects.toThrow('is not open');
  await expect(runner.open(new Uint8Array([1, 2, 3]), { threads: 1 })).rejects.toThrow(/model/i);
  await runner.close();
});

test('closing a worker ends its thread, and fails open and later calls with the reason', async () => {
  const runner = graphRunner();
  const opening = runner.open(doubled(), { threads: 1 });
  const failed = expect(opening).rejects.toMatchObject({ code: 'WORKER_ENDED' });
  await runner.close();
  await failed;
  await expect(runner.open(doubled(), { threads: 1 })).rejects.toMatchObject({
    code: 'WORKER_ENDED',
  });
});

test('a worker runs a model with external weights', async () => {
  const graph = new Graph();
  const x = graph.input('x', 'float32', [2]);
  const w = graph.initialiser('w', 'float32', [2], { location: 'weights', offset: 4, bytes: 8 });
  graph.output('y', graph.node('Mul', [x, w], [2]));
  const runner = graphRunner();
  const data = new Uint8Array(Float32Array.of(9, 3, 5).buffer);
  const external = [{ location: 'weights', data }];
  const session = await runner.open(graph.model(), { threads: 1, external });
  const { y } = await session.run({ x: { shape: [2], data: Float32Array.of(1, 10) } });
  expect([...y!.data]).toEqual([3, 50]);
  await runner.close();
});
