/**
 * Sequences as the wire has them, in bytes.
 *
 * A sequence of n tokens is one datum of n - 1 places: place j has token j, and what is known about token j +
 * 1. What follows the last target is left out. Numbers are written here and not by `JSON.stringify`: a
 * float32 takes at most nine significant digits, which is exact, while a double of the same value takes twice
 * as many.
 */

import type { Places } from '../losses/places.ts';

/** A number for each target of a datum: token indices, and their values. */
export interface DatumValues {
  readonly places: Places;
  /** What the lists are by: the number of the target, or the place of the token, which packed bodies take. */
  readonly by?: 'target' | 'place';
  readonly advantages: ArrayLike<number> | null;
  readonly logProbs: ArrayLike<number> | null;
  /** One number = that for all; null = 1. */
  readonly weights: ArrayLike<number> | number | null;
}

/** A sequence with what is known about its targets. */
export interface Datum {
  readonly tokens: Int32Array;
  readonly values: DatumValues;
}

export interface PassBody {
  readonly route: 'forward' | 'forward_backward';
  readonly modelId: string;
  readonly number: number;
  readonly lossFn: string;
  readonly lossConfig?: Readonly<Record<string, number>>;
  /** Sums are enough of a reply; only where numbers are packed. */
  readonly sums?: boolean;
  readonly data: readonly Datum[];
}

/** Upper estimate of the bytes of a datum with this many places. */
export function datumBytes(places: number): number {
  return 400 + places * 46;
}

/** The body of `forward` and `forward_backward`. */
export function passBody(body: PassBody): Uint8Array {
  const { route, modelId, number, lossFn, lossConfig, data } = body;
  const config = lossConfig === undefined ? '' : `,"loss_fn_config":${JSON.stringify(lossConfig)}`;
  const head = `{"model_id":${JSON.stringify(modelId)},"seq_id":${number},"type":"${route}","${route}_input":`;
  const datums = data.map(({ tokens, values }) => datum(tokens, values));
  return Buffer.from(
    `${head}{"data":[${datums.join(',')}],"loss_fn":"${lossFn}"${config}}}`,
    'latin1',
  );
}

/** One sequence as a datum. */
export function datum(tokens: Int32Array, values: DatumValues): string {
  const length = values.places.at(-1) ?? 0;
  const spread = (given: DatumValues['weights'], otherwise: number) =>
    tensor('float32', spreadOut(values.places, given, length, otherwise), length);
  const inputs = [
    `"target_tokens":${tensor('int64', tokens.subarray(1, length + 1).join(','), length)}`,
    `"weights":${spread(values.weights, 1)}`,
    ...(values.advantages === null ? [] : [`"advantages":${spread(values.advantages, 0)}`]),
    ...(values.logProbs === null ? [] : [`"logprobs":${spread(values.logProbs, 0)}`]),
  ];
  const chunk = `{"type":"encoded_text","tokens":[${tokens.subarray(0, length).join(',')}]}`;
  return `{"model_input":{"chunks":[${chunk}]},"loss_fn_inputs":{${inputs.join(',')}}}`;
}

function tensor(dtype: string, data: string, length: number): string {
  return `{"data":[${data}],"dtype":"${dtype}","shape":[${length}]}`;
}

/** The values at their indices, 0 in between. */
function spreadOut(
  places: Places,
  values: DatumValues['weights'],
  length: number,
  otherwise: number,
): string {
  const parts = new Array<string>(length).fill('0');
  let last = Number.NaN;
  let text = '';
  for (const [index, place] of places.entries()) {
    const value = typeof values === 'number' ? values : (values?.[index] ?? otherwise);
    if (value !== last) {
      last = value;
      text = float32Text(value);
    }
    parts[place - 1] = text;
  }
  return parts.join(',');
}

const POWERS = Array.from({ length: 97 }, (_, i) => Number(`1e${i - 48}`));

/** Shortest is not the aim: nine digits and an exponent, which a float32 is read back from exactly. */
export function float32Text(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const exponent = 8 - Math.floor(Math.log10(Math.abs(value)));
  const power = POWERS[exponent + 48];
  if (power === undefined) return String(value);
  return `${Math.round(value * power)}e${-exponent}`;
}
