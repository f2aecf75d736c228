/**
 * A step's gradients while its micro-batches add up: one float32 array per trained parameter, in a fixed
 * order.
 *
 * The rows of the embedding are added token by token, in the order of the batch, so that a token that comes
 * twice gets both, and nothing depends on threads.
 */
import type { Tensors } from '../config.ts';
import type { Feeds } from '../runtime/session.ts';
import { addTo } from './passes.ts';
import { EMBEDDED_GRADIENT, EMBEDDING, GRADIENT } from './trainGraph.ts';

export class GradientSums {
  readonly #trained: Tensors;
  readonly #sums = new Map<string, Float32Array>();

  /** `trained`: the trained parameters, for their names and sizes. */
  constructor(trained: Tensors) {
    this.#trained = trained;
  }

  /** By parameter, in the order of `trained`; zeros where nothing was added. */
  get sums(): ReadonlyMap<string, Float32Array> {
    for (const [name, { data }] of this.#trained)
      if (!this.#sums.has(name)) this.#sums.set(name, new Float32Array(data.length));
    return this.#sums;
  }

  /** Adds the result of one run of a training graph. Its arrays are ours from now on. */
  add(feeds: Feeds, results: Feeds): void {
    for (const [name, { data }] of this.#trained) {
      const part = results[`${GRADIENT}${name}`]?.data as Float32Array | undefined;
      const sum = this.#sums.get(name);
      if (sum === undefined) this.#sums.set(name, part ?? new Float32Array(data.length));
      else if (part !== undefined) addTo(sum, part);
    }
    const rows = results[EMBEDDED_GRADIENT];
    const embedding = this.#sums.get(EMBEDDING);
    if (rows !== undefined && embedding !== undefined)
      addRows(embedding, feeds.tokens?.data as Int32Array, rows.data as Float32Array);
  }
}

/** Adds row i of `rows` to row tokens[i] of `table`; both have rows of equal width. */
export function addRows(
  table: Float32Array | Float64Array,
  tokens: Int32Array,
  rows: Float32Array | Float64Array,
): void {
  const width = rows.length / tokens.length;
  for (let i = 0, from = 0; i < tokens.length; i++) {
    const to = (tokens[i] as number) * width;
    for (let d = 0; d < width; d++, from++)
      table[to + d] = (table[to + d] as number) + (rows[from] as number);
  }
}
