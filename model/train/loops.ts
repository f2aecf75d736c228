/**
 * The loops over a step's numbers in WebAssembly, four numbers at a time: sum, squares, AdamW.
 *
 * They work on pieces of up to four arrays, which are in a memory of their own that fits into the processor's
 * cache. All operations round to float32 (squares and their sum to float64), in an order that depends only on
 * how many numbers there are.
 */
import {
  type Code,
  f32x4,
  f64,
  f64x2,
  get,
  i32,
  openWasm,
  repeat,
  set,
  type Type,
  v128,
  type WasmFunction,
} from './wasm.ts';

/** Numbers of a piece: four pieces take half a megabyte. */
export const PIECE = 1 << 15;
/** Pieces are padded with zeros to a multiple of this many numbers. */
export const STRIDE = 8;
/** Keeps like places of two pieces out of the same set of the first cache. */
const STAGGER_BYTES = 256;

/** Where the pieces of up to four arrays are. */
const PLACES = [0, 1, 2, 3].map((index) => index * (4 * PIECE + STAGGER_BYTES));
const [A, B, C, D] = PLACES as [number, number, number, number];

/** Adds the second array to the first. */
const addition = loop('add', {
  stride: 4,
  body: (at) => v128.store(at, A, f32x4.add(v128.load(at, A), v128.load(at, B))),
});

/** The sum of squares of an array: eight sums side by side, then one. */
const squares = loop('squares', {
  stride: 8,
  variables: 5,
  body(at, [x, ...sums]) {
    const square = f64x2.multiply(get(x), get(x));
    return sums.flatMap((sum, index) => [
      ...set(x, f64x2.widen(v128.loadHalf(at, A + 8 * index))),
      ...set(sum, f64x2.add(get(sum), square)),
    ]);
  },
  result([x, ...sums]) {
    const [a, b, c, d] = sums.map(get) as [Code, Code, Code, Code];
    const pair = f64x2.add(f64x2.add(a, b), f64x2.add(c, d));
    return [...set(x, pair), ...f64.add(f64x2.lane(get(x), 0), f64x2.lane(get(x), 1))];
  },
});

/** AdamW's numbers, in the order of the loop's parameters. */
export const FACTORS = [
  'beta1',
  'rest1',
  'beta2',
  'rest2',
  'eps',
  'rate',
  'correction',
  'decay',
  'scale',
] as const;
export type Factor = (typeof FACTORS)[number];

/**
 * g *= scale; m = beta1 m + rest1 g; v = beta2 v + rest2 g g; p -= decay p + rate m / (sqrt(v) correction +
 * eps), with p, m, v and g in this order.
 */
const update = loop('update', {
  stride: 4,
  parameters: FACTORS.map(() => 'f32'),
  variables: 3,
  body(at, [g, m, v]) {
    const { add, subtract, multiply, divide, root } = f32x4;
    const factor = (name: Factor) => f32x4.splat(get(1 + FACTORS.indexOf(name)));
    const [p, mean, square] = [A, B, C].map((place) => v128.load(at, place)) as [Code, Code, Code];
    const step = multiply(factor('rate'), get(m));
    const size = add(multiply(root(get(v)), factor('correction')), factor('eps'));
    const move = add(multiply(factor('decay'), p), divide(step, size));
    const change = multiply(multiply(factor('rest2'), get(g)), get(g));
    return [
      ...set(g, multiply(v128.load(at, D), factor('scale'))),
      ...set(m, add(multiply(factor('beta1'), mean), multiply(factor('rest1'), get(g)))),
      ...set(v, add(multiply(factor('beta2'), square), change)),
      ...v128.store(at, A, subtract(p, move)),
      ...v128.store(at, B, get(m)),
      ...v128.store(at, C, get(v)),
    ];
  },
});

/** Each works on the first `count` numbers of the pieces, a multiple of STRIDE. */
export interface Loops {
  /** Adds the second piece to the first. */
  add(count: number): void;
  /** Of the first piece. */
  squares(count: number): number;
  /** Parameter, mean and square, with the gradient as the fourth; `factors` as in FACTORS. */
  update(count: number, ...factors: number[]): void;
}

/** Variables by number; a loop has as many as it needs. */
type Variables = readonly [number, number, number, ...number[]];

interface Loop {
  /** Numbers that are done at once. */
  readonly stride: number;
  readonly parameters?: readonly Type[];
  /** How many variables of 128 bits it has. */
  readonly variables?: number;
  /** What is done with the numbers at `at`. */
  body(at: Code, variables: Variables): Code;
  /** A float64 at the end. */
  result?(variables: Variables): Code;
}

/** A function of how many numbers there are, and of `parameters`. */
function loop(
  name: keyof Loops,
  { stride, parameters = [], variables = 0, body, result }: Loop,
): WasmFunction {
  const [count, at] = [0, 1 + parameters.length];
  const own = Array.from({ length: variables }, (_, index) => at + 1 + index);
  const given = own as unknown as Variables;
  const next = i32.add(get(at), i32.constant(4 * stride));
  return {
    name,
    parameters: ['i32', ...parameters],
    results: result === undefined ? [] : ['f64'],
    locals: ['i32', ...own.map((): Type => 'v128')],
    body: [
      ...set(count, i32.shiftLeft(get(count), i32.constant(2))),
      ...repeat([...body(get(at), given), ...set(at, next)], i32.below(get(at), get(count))),
      ...(result?.(given) ?? []),
    ],
  };
}

/** The loops, and the pieces that they work on. */
export function openLoops(): { readonly loops: Loops; readonly pieces: readonly Float32Array[] } {
  const bytes = (PLACES.at(-1) as number) + 4 * PIECE;
  const { functions, memory } = openWasm<Loops>([addition, squares, update], bytes);
  const pieces = PLACES.map((place) => new Float32Array(memory, place, PIECE));
  return { loops: functions, pieces };
}
