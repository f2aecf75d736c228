/**
 * Cuts a batch into micro-batches of bounded size, each of rows that are padded to the longest of them.
 *
 * By length: rows of similar length together, so that little is padding. By Karmarkar and Karp: parts with
 * nearly equal numbers of tokens. Packed: by length, and short sequences one after the other in a row, which
 * a graph for packed rows keeps apart. A pure function of the lengths: the same batch is cut the same way on
 * every machine.
 */
import type { DecoderConfig } from '../config.ts';
import { balance } from './balance.ts';

/** Lengths are padded to multiples of this, so that the runtime sees few different shapes. */
const LENGTH_STEP = 8;

/**
 * `length` is the faster one where micro-batches are computed one after the other, as here. `packed` is
 * faster still for short sequences of unequal lengths; its sums are taken in another order, so weights differ
 * in their last bits.
 */
export type Packing = 'length' | 'karmarkar-karp' | 'packed';

export interface MicroBatch {
  /** Places of its sequences in the batch, row by row. */
  readonly rows: readonly number[];
  /** Padded length of every row. */
  readonly length: number;
  /** The sequences of each row if it may hold several; left out = one each. */
  readonly packs?: readonly (readonly number[])[];
}

/**
 * Numbers in the widest matrix of activations of one layer, at most: 8 MiB, which a processor's cache holds.
 */
const ACTIVATIONS_MAX = 2 ** 21;

/**
 * Tokens of a micro-batch by default: 1,920, or as many as the network is narrow for. Matrices of 1,024 or
 * 2,048 columns, as transposed ones would have, fall into the same few places of the processor's first cache:
 * so a little less.
 */
export function microBatchTokens({
  intermediateSize,
}: Pick<DecoderConfig, 'intermediateSize'>): number {
  const most = Math.floor(Math.log2(ACTIVATIONS_MAX / intermediateSize));
  const tokens = 2 ** Math.min(11, Math.max(6, most));
  return tokens < 1024 ? tokens : tokens - tokens / 16;
}

/**
 * rows * padded length stays within `tokensMax` (a longer single row goes alone). Rows of length 0 are left
 * out.
 */
export function microBatches(
  lengths: readonly number[],
  tokensMax: number,
  packing: Packing = 'length',
): readonly MicroBatch[] {
  const rows = [...lengths.keys()].filter((row) => (lengths[row] as number) > 0);
  switch (packing) {
    case 'length':
      return byLength(rows, lengths, tokensMax);
    case 'karmarkar-karp':
      return balanced(rows, lengths, tokensMax);
    case 'packed':
      return packed(rows, lengths, tokensMax);
    default:
      throw new Error(`unknown packing '${packing satisfies never}'`);
  }
}

/**
 * The same for a batch of pairs (rows 2i and 2i + 1): both rows of a pair go into one micro-batch; they are
 * not packed.
 */
export function pairedMicroBatches(
  lengths: readonly number[],
  tokensMax: number,
  packing: Packing = 'length',
): readonly MicroBatch[] {
  const longest = Array.from({ length: lengths.length / 2 }, (_, pair) =>
    Math.max(lengths[2 * pair] as number, lengths[2 * pair + 1] as number),
  );
  const by = packing === 'packed' ? 'length' : packing;
  return microBatches(longest, tokensMax / 2, by).map(({ rows, length }) => ({
    rows: rows.flatMap((pair) => [2 * pair, 2 * pair + 1]),
    length,
  }));
}

/** Longest rows first. */
function byLength(
  rows: readonly number[],
  lengths: readonly number[],
  tokensMax: number,
): readonly MicroBatch[] {
  const order = rows.toSorted((a, b) => (lengths[b] as number) - (lengths[a] as number) || a - b);
  const batches: MicroBatch[] = [];
  let start = 0;
  while (start < order.length) {
    const length = padded(lengths[order[start] as number] as number);
    const count = Math.max(1, Math.floor(tokensMax / length));
    batches.push({ rows: order.slice(start, start + count), length });
    start += count;
  }
  return batches;
}

/** Rows as long as the longest sequence left, filled with the longest that fit: first fit, decreasing. */
function packed(
  rows: readonly number[],
  lengths: readonly number[],
  tokensMax: number,
): readonly MicroBatch[] {
  let left = rows.toSorted((a, b) => (lengths[b] as number) - (lengths[a] as number) || a - b);
  const batches: MicroBatch[] = [];
  while (left.length > 0) {
    const length = padded(lengths[left[0] as number] as number);
    const count = Math.max(1, Math.floor(tokensMax / length));
    const packs: number[][] = [];
    const room: number[] = [];
    left = left.filter((row) => {
      const own = lengths[row] as number;
      let pack = room.findIndex((free) => free >= own);
      if (pack < 0 && packs.length < count) {
        pack = packs.push([]) - 1;
        room.push(length);
      }
      if (pack < 0) return true;
      packs[pack]?.push(row);
      room[pack] = (room[pack] as number) - own;
      return false;
    });
    batches.push({ rows: packs.flat(), length, packs });
  }
  return batches;
}

/** As few equal parts as the tokens require, or more until each fits with its padding. */
function balanced(
  rows: readonly number[],
  lengths: readonly number[],
  tokensMax: number,
): readonly MicroBatch[] {
  const own = rows.map((row) => lengths[row] as number);
  const total = own.reduce((sum, length) => sum + length, 0);
  let count = Math.ceil(total / tokensMax);
  while (count < rows.length) {
    const batches = balance(own, count).map((part) => ({
      rows: part.map((place) => rows[place] as number),
      length: padded(Math.max(...part.map((place) => own[place] as number))),
    }));
    const fits = (batch: MicroBatch) =>
      batch.rows.length === 1 || batch.rows.length * batch.length <= tokensMax;
    if (batches.every(fits)) return batches;
    count += Math.ceil(count / 8);
  }
  return rows.map((row) => ({ rows: [row], length: padded(lengths[row] as number) }));
}

/** Up to the next multiple of the step. */
function padded(length: number): number {
  return Math.ceil(length / LENGTH_STEP) * LENGTH_STEP;
}
