/**
 * The feeds of a decoder graph: padded tokens, and the rows whose next-token logits are needed.
 *
 * A target at place t of its sequence is predicted by row t - 1; what follows the last target never enters
 * the model.
 */
import type { Places } from '../losses/places.ts';
import type { Feeds } from '../runtime/session.ts';
import type { MicroBatch } from './microBatches.ts';

export interface Targets {
  readonly tokens: Int32Array;
  readonly places: Places;
}

/** How many tokens of a sequence enter the model. */
export function inputLength({ places }: Targets): number {
  return places.at(-1) ?? 0;
}

/**
 * `tokens`, `rows` and `targets` of a micro-batch; targets come row by row in its order. For a graph of
 * packed rows also the `places` of tokens in their sequences and the number of their sequence in its row
 * (`segments`; -1 = padding).
 */
export function sequenceFeeds(
  sequences: readonly Targets[],
  { rows, length, packs = rows.map((row) => [row]) }: MicroBatch,
  packed = false,
): Feeds {
  const size = packs.length * length;
  const tokens = new Int32Array(size);
  const placed = new Int32Array(packed ? size : 0);
  const segments = new Int32Array(packed ? size : 0).fill(-1);
  const places: number[] = [];
  const targets: number[] = [];
  for (const [index, pack] of packs.entries()) {
    let start = index * length;
    for (const [segment, row] of pack.entries()) {
      const sequence = sequences[row] as Targets;
      const own = inputLength(sequence);
      tokens.set(sequence.tokens.subarray(0, own), start);
      if (packed) {
        segments.fill(segment, start, start + own);
        for (let place = 0; place < own; place++) placed[start + place] = place;
      }
      for (const place of sequence.places) {
        places.push(start + place - 1);
        targets.push(sequence.tokens[place] as number);
      }
      start += own;
    }
  }
  const vector = (data: Int32Array) => ({ shape: [data.length], data });
  const matrix = (data: Int32Array) => ({ shape: [packs.length, length], data });
  return {
    tokens: matrix(tokens),
    rows: vector(Int32Array.from(places)),
    targets: vector(Int32Array.from(targets)),
    ...(packed ? { places: matrix(placed), segments: matrix(segments) } : {}),
  };
}
