/** Products on several numbers of threads: which would differ, and that ours do not. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { Graph } from '../../../model/graph/graph.ts';
import { product, weightGradient } from '../../../model/graph/product.ts';
import { sharedByRows, sumsVary } from '../../../model/graph/sharing.ts';
import type { Feed, Session } from '../../../model/runtime/session.ts';
import { type GraphRunner, graphRunner } from '../runtime/graphRunner.ts';

const THREADS = [1, 2, 3, 4, 8];

let runner: GraphRunner;
beforeAll(() => {
  runner = graphRunner();
});
afterAll(() => runner.close());

const random = draws('product');
let drawn = 0;
const among = <T>(values: readonly T[]): T => values[random.integer(drawn++, values.length)]!;
/** Numbers of both signs that have all their digits. */
function matrix(rows: number, columns: number): Feed {
  let state = random.integer(drawn++, 2 ** 31);
  const next = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
  return { shape: [rows, columns], data: Float32Array.from({ length: rows * columns }, next) };
}

/** What each session makes of the same feeds. */
async function made(sessions: readonly Session[], feeds: Record<string, Feed>): Promise<Buffer[]> {
  const outputs: Buffer[] = [];
  for (const session of sessions) {
    const { data } = (await session.run(feeds)).y!;
    outputs.push(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  }
  return outputs;
}

function opened(graphFor: (threads: number) => Graph): Promise<Session[]> {
  return Promise.all(THREADS.map((threads) => runner.open(graphFor(threads).model(), { threads })));
}

/** [rows, inner] times [inner, columns] or its transpose. */
function productGraph(
  inner: number,
  columns: number,
  turned: boolean,
  threads: number | null,
): Graph {
  const graph = new Graph('float32', threads);
  const a = graph.input('a', 'float32', ['M', inner]);
  const b = graph.input('b', 'float32', turned ? [columns, inner] : [inner, columns]);
  graph.output('y', product(a, b, { turned }));
  return graph;
}

const SIZES = Array.from({ length: 24 }, () => ({
  inner: among([64, 128, 129, 200, 256, 257, 300, 512, 600]),
  columns: among([8, 16, 24, 48, 64, 65, 80, 100, 127, 128, 144, 200, 256, 320, 512]),
  turned: among([true, false]),
}));
/** A product's rows: one, few, and on either side of where it is shared out by rows. */
const rowsOf = (columns: number): number[] => {
  const bound = sharedByRows(columns);
  return [1, 2, 3, 20, bound - 1, bound, bound + 7];
};

describe('a product has the same bits on any number of threads', () => {
  test.each(SIZES)('with $inner terms and $columns columns (transposed: $turned)', async (size) => {
    const { inner, columns, turned } = size;
    const sessions = await opened((threads) => productGraph(inner, columns, turned, threads));
    const b = turned ? matrix(columns, inner) : matrix(inner, columns);
    for (const rows of rowsOf(columns)) {
      const [first, ...others] = await made(sessions, { a: matrix(rows, inner), b });
      for (const other of others) expect(first!.equals(other)).toBe(true);
    }
    for (const session of sessions) await session.release();
  });

  // What is said of shares was read off, and holds for, the products of x86.
  const onX86 = process.arch === 'x64' ? test : test.skip;
  onX86(
    'and without care it differs nowhere but where the runtime is said to share it unevenly',
    async () => {
      let differing = 0;
      for (const { inner, columns, turned } of SIZES) {
        const sessions = await opened(() => productGraph(inner, columns, turned, null));
        const b = turned ? matrix(columns, inner) : matrix(inner, columns);
        for (const rows of rowsOf(columns)) {
          const [first, ...others] = await made(sessions, { a: matrix(rows, inner), b });
          for (const [i, other] of others.entries()) {
            if (first!.equals(other)) continue;
            differing++;
            expect(rows).toBeLessThan(sharedByRows(columns));
            expect(sumsVary(columns, inner, THREADS[i + 1]!)).toBe(true);
          }
        }
        for (const session of sessions) await session.release();
      }
      expect(differing).toBeGreaterThan(10);
    },
  );
});

test.each([
  [64, 48],
  [128, 256],
  [704, 768],
  [768, 704],
  [1024, 520],
])(
  'the gradient of a weight [%i, %i] has the same bits on any number of threads',
  async (out, width) => {
    const sessions = await opened((threads) => {
      const graph = new Graph('float32', threads);
      const g = graph.input('g', 'float32', ['N', out]);
      graph.output('y', weightGradient(g, graph.input('x', 'float32', ['N', width])));
      return graph;
    });
    for (const rows of [1, 5, 129, 300]) {
      const feeds = { g: matrix(rows, out), x: matrix(rows, width) };
      const [first, ...others] = await made(sessions, feeds);
      for (const other of others) expect(first!.equals(other)).toBe(true);
    }
    for (const session of sessions) await session.release();
  },
);
