/**
 * The feeds of a decoder graph: padded tokens, and the rows whose next-token logits are wanted.
 *
 * A target at place t of its sequence is predicted by row t - 1; what follows the last target never enters the model.
 */
import type { Feeds } from '../runtime/session.ts';
import type { MicroBatch } from './microBatches.ts';

export interface Targets {
  readonly tokens: Int32Array;
  /** Places of the targets, ascending, none 0. */
  readonly places: readonly number[];
}

/** How many tokens of a sequence enter the model. */
export function inputLength({ places }: Targets): number {
  return places.at(-1) ?? 0;
}

/** `tokens`, `rows` and `targets` of a micro-batch; targets come row by row in its order. */
export function sequenceFeeds(sequences: readonly Targets[], { rows, length }: MicroBatch): Feeds {
  const tokens = new Int32Array(rows.length * length);
  const places: number[] = [];
  const targets: number[] = [];
  for (const [index, row] of rows.entries()) {
    const sequence = sequences[row] as Targets;
    tokens.set(sequence.tokens.subarray(0, inputLength(sequence)), index * length);
    for (const place of sequence.places) {
      places.push(index * length + place - 1);
      targets.push(sequence.tokens[place] as number);
    }
  }
  const vector = (data: Int32Array) => ({ shape: [data.length], data });
  return {
    tokens: { shape: [rows.length, length], data: tokens },
    rows: vector(Int32Array.from(places)),
    targets: vector(Int32Array.from(targets)),
  };
}
