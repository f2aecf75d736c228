/**
 * Cuts a batch into micro-batches of bounded size: rows of like length together, so that little is padding.
 *
 * A pure function of the lengths: the same batch is cut the same way on every machine.
 */

/** Lengths are padded to multiples of this, so that the runtime sees few different shapes. */
const LENGTH_STEP = 8;

export interface MicroBatch {
  /** Places of its rows in the batch. */
  readonly rows: readonly number[];
  /** Padded length of every row. */
  readonly length: number;
}

/**
 * Longest rows first; rows * padded length stays within `tokensMax` (a longer single row goes alone). Rows of
 * length 0 are left out.
 */
export function microBatches(lengths: readonly number[], tokensMax: number): readonly MicroBatch[] {
  const order = [...lengths.keys()]
    .filter((row) => (lengths[row] as number) > 0)
    .sort((a, b) => (lengths[b] as number) - (lengths[a] as number) || a - b);
  const batches: MicroBatch[] = [];
  let start = 0;
  while (start < order.length) {
    const longest = lengths[order[start] as number] as number;
    const length = Math.ceil(longest / LENGTH_STEP) * LENGTH_STEP;
    const count = Math.max(1, Math.floor(tokensMax / length));
    batches.push({ rows: order.slice(start, start + count), length });
    start += count;
  }
  return batches;
}

/** The same for a batch of pairs (rows 2i and 2i + 1): both rows of a pair go into one micro-batch. */
export function pairedMicroBatches(
  lengths: readonly number[],
  tokensMax: number,
): readonly MicroBatch[] {
  const longest = Array.from({ length: lengths.length / 2 }, (_, pair) =>
    Math.max(lengths[2 * pair] as number, lengths[2 * pair + 1] as number),
  );
  return microBatches(longest, tokensMax / 2).map(({ rows, length }) => ({
    rows: rows.flatMap((pair) => [2 * pair, 2 * pair + 1]),
    length,
  }));
}
