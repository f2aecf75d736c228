/**
 * The two passes with packed numbers, for services that say that they take them (`packed` of their
 * capabilities, as ours does): little-endian int32 tokens and float32 values in place of decimal text, the
 * same to the bit. A request has its tokens once, since the targets are the tokens moved by one place.
 *
 *     MILLPAK1 · length of the head (uint32) · head (JSON, padded with spaces) · tokens of all datums · each tensor
 *
 * The head names the lengths of the datums; a datum of n places has n + 1 tokens. A reply has the log-probs,
 * or, with `sums` in the head of the request, only a head with sums over the tokens (`PackedSums`).
 */
import type { RolloutSums } from '../losses/parts/rollouts.ts';
import { eachRun } from '../losses/places.ts';
import type { Datum, PassBody } from './encode.ts';

/** Media type of such a body. */
export const PACKED_TYPE = 'application/vnd.millrace.packed';

const MAGIC = Buffer.from('MILLPAK1', 'latin1');
const HEAD_AT = MAGIC.length + 4;

export function isPacked(bytes: Uint8Array): boolean {
  return bytes.length > HEAD_AT && MAGIC.every((byte, i) => bytes[i] === byte);
}

/** About how many bytes a datum of this many places has, at most. */
export function packedBytes(places: number): number {
  return 40 + places * 16;
}

const TENSORS = ['weights', 'advantages', 'logProbs'] as const;
const ON_WIRE = { weights: 'weights', advantages: 'advantages', logProbs: 'logprobs' } as const;

/** A request for log-probs needs no weights: they are only in the loss. */
function tensorsOf({ route, data }: PassBody): readonly (typeof TENSORS)[number][] {
  if (route === 'forward') return [];
  const values = data[0]?.values;
  return TENSORS.filter((name) => name === 'weights' || values?.[name] != null);
}

export function packedBody(body: PassBody): Uint8Array {
  const { route, modelId, number, lossFn, lossConfig, sums = false, data } = body;
  const lengths = data.map(({ values }) => values.places.at(-1) ?? 0);
  const tensors = tensorsOf(body);
  const head = {
    ...{ model_id: modelId, seq_id: number, type: route, loss_fn: lossFn },
    ...(lossConfig === undefined ? {} : { loss_fn_config: lossConfig }),
    ...(sums ? { sums } : {}),
    ...{ lengths, tensors: tensors.map((name) => ON_WIRE[name]) },
  };
  const places = lengths.reduce((sum, length) => sum + length, 0);
  const { bytes, at } = opened(head, 4 * (places + data.length + tensors.length * places));
  let from = at;
  const tokens = new Int32Array(bytes.buffer, from, places + data.length);
  let place = 0;
  for (const [i, one] of data.entries()) {
    tokens.set(one.tokens.subarray(0, lengths[i]! + 1), place);
    place += lengths[i]! + 1;
  }
  from += 4 * tokens.length;
  for (const name of tensors) {
    spread(new Float32Array(bytes.buffer, from, places), data, lengths, name);
    from += 4 * places;
  }
  return bytes;
}

/** The values at their indices, 0 in between. */
function spread(
  into: Float32Array,
  data: readonly Datum[],
  lengths: readonly number[],
  name: (typeof TENSORS)[number],
): void {
  let from = -1;
  for (const [i, { values }] of data.entries()) {
    const given = values[name] ?? (name === 'weights' ? 1 : 0);
    const begin = from;
    eachRun(values.places, (index, place, length) => {
      const at = begin + place;
      const own = values.by === 'place' ? place : index;
      if (typeof given === 'number') into.fill(given, at, at + length);
      else if (given instanceof Float32Array) into.set(given.subarray(own, own + length), at);
      else for (let i = 0; i < length; i++) into[at + i] = given[own + i]!;
    });
    from += lengths[i]!;
  }
}

/** A body with its head in it, and where its numbers begin: at a multiple of 4. */
function opened(
  head: object,
  numbers: number,
): { readonly bytes: Uint8Array; readonly at: number } {
  const text = Buffer.from(JSON.stringify(head));
  const length = text.length + ((4 - (text.length % 4)) % 4);
  const at = HEAD_AT + length;
  const bytes = new Uint8Array(at + numbers);
  bytes.set(MAGIC);
  new DataView(bytes.buffer).setUint32(MAGIC.length, length, true);
  bytes.fill(32, HEAD_AT, at);
  bytes.set(text, HEAD_AT);
  return { bytes, at };
}

/** The packed reply for each datum; null if it is unreadable. */
export function packedLogProbs(reply: Uint8Array): readonly Float32Array[] | null {
  const view = new DataView(reply.buffer, reply.byteOffset, reply.byteLength);
  const at = HEAD_AT + view.getUint32(MAGIC.length, true);
  const lengths = lengthsIn(reply);
  const places = lengths?.reduce((sum, length) => sum + length, 0) ?? 0;
  if (lengths === null || reply.length !== at + 4 * places) return null;
  const all = new Float32Array(reply.slice(at).buffer);
  let from = 0;
  return lengths.map((length) => {
    const own = all.subarray(from, from + length);
    from += length;
    return own;
  });
}

/** A service's sums for a loss that it computed, over all tokens with a weight. */
export interface PackedSums extends RolloutSums {
  readonly loss: number;
  readonly tokens: number;
}

const SUMS = ['loss', 'tokens', 'clipped', 'drift', 'apart', 'apart_max'] as const;

/** The sums of a packed reply, NaN where one is not finite; null if it is not a reply with sums. */
export function packedSums(reply: Uint8Array): PackedSums | null {
  const head = isPacked(reply) ? headIn(reply) : null;
  const isSum = (value: unknown): value is number | null =>
    value === null || typeof value === 'number';
  if (head === null || !SUMS.every((name) => isSum(head[name]))) return null;
  const [loss, tokens, clipped, drift, apart, apartMax] = SUMS.map(
    (name) => (head[name] as number | null) ?? Number.NaN,
  ) as [number, number, number, number, number, number];
  return { loss, tokens, clipped, drift, apart, apartMax };
}

/** Null if it is not JSON. */
function headIn(reply: Uint8Array): Readonly<Record<string, unknown>> | null {
  const view = new DataView(reply.buffer, reply.byteOffset, reply.byteLength);
  const head = reply.subarray(HEAD_AT, HEAD_AT + view.getUint32(MAGIC.length, true));
  try {
    return JSON.parse(Buffer.from(head).toString());
  } catch {
    return null;
  }
}

function lengthsIn(reply: Uint8Array): readonly number[] | null {
  const lengths = headIn(reply)?.lengths;
  const whole = (length: unknown): length is number => Number.isSafeInteger(length);
  return Array.isArray(lengths) && lengths.every(whole) ? lengths : null;
}
