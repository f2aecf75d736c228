/**
 * Passes over whole arrays of numbers, for a step's gradients and parameters: sum, squares, AdamW.
 *
 * In WebAssembly, four numbers at a time. Arrays stay where they are: one piece of each after the other is copied into a
 * memory that fits into the processor's cache, and back. All operations round to float32 (squares and their sum to
 * float64), in an order that depends on lengths alone.
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
const PIECE = 1 << 15;
/** What is worked on is filled up with zeros to a multiple of so many numbers. */
const STRIDE = 8;
/** Keeps like places of two pieces out of the same set of the first cache. */
const STAGGER_BYTES = 256;

/** Where the pieces of up to four arrays lie. */
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
const FACTORS = [
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
 * g *= scale; m = beta1 m + rest1 g; v = beta2 v + rest2 g g; p -= decay p + rate m / (sqrt(v) correction + eps), with
 * p, m, v and g in this order.
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

interface Loops {
  add(count: number): void;
  squares(count: number): number;
  update(count: number, ...factors: number[]): void;
}

/** Variables by number; a loop has as many as it asks for. */
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

interface Machine {
  readonly loops: Loops;
  readonly pieces: readonly Float32Array[];
}

let made: Machine | undefined;

/** The loops and their memory; a thread has its own. */
function machine(): Machine {
  if (made !== undefined) return made;
  const bytes = (PLACES.at(-1) as number) + 4 * PIECE;
  const { functions, memory } = openWasm<Loops>([addition, squares, update], bytes);
  made = {
    loops: functions,
    pieces: PLACES.map((place) => new Float32Array(memory, place, PIECE)),
  };
  return made;
}

/** `work` on each piece of arrays of equal length; the first `changed` of them are written back. */
function byPieces(
  arrays: readonly Float32Array[],
  changed: number,
  work: (loops: Loops, count: number) => void,
): void {
  const { loops, pieces } = machine();
  const length = (arrays[0] as Float32Array).length;
  for (let from = 0; from < length; from += PIECE) {
    const count = Math.min(PIECE, length - from);
    const whole = Math.ceil(count / STRIDE) * STRIDE;
    for (const [index, array] of arrays.entries())
      piece(index)
        .fill(0, count, whole)
        .set(array.subarray(from, from + count));
    work(loops, whole);
    for (let index = 0; index < changed; index++)
      (arrays[index] as Float32Array).set(piece(index).subarray(0, count), from);
  }
  function piece(index: number): Float32Array {
    return pieces[index] as Float32Array;
  }
}

/** Adds `part` to `sum`, number by number. */
export function addTo(sum: Float32Array, part: Float32Array): void {
  byPieces([sum, part], 1, (loops, count) => loops.add(count));
}

/** In float64. Not finite when a number is not. */
export function sumOfSquares(x: Float32Array): number {
  let sum = 0;
  byPieces([x], 0, (loops, count) => {
    sum += loops.squares(count);
  });
  return sum;
}

/** One update of a parameter and the means of its gradient and of its squares, in place. */
export function updateBy(
  parameter: Float32Array,
  mean: Float32Array,
  square: Float32Array,
  gradient: Float32Array,
  factors: Readonly<Record<Factor, number>>,
): void {
  const numbers = FACTORS.map((name) => factors[name]);
  byPieces([parameter, mean, square, gradient], 3, (loops, count) =>
    loops.update(count, ...numbers),
  );
}
