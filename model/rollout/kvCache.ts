/**
 * Keys and values of many contexts, one row each, in one Float32Array per layer: [row, kvHead, position,
 * headDim].
 *
 * The stride over positions (`capacity`) can grow and shrink in place, so that the arrays handed to the model
 * are a contiguous view with no unused tail; the arrays themselves are allocated once, at the largest
 * capacity (untouched pages cost no memory). What is beyond a context's length is stale but finite.
 */
import type { CacheShape, NewRows } from './forward.ts';

export class KvCache {
  readonly shape: CacheShape;
  readonly rowsMax: number;
  readonly capacityMax: number;
  #capacity: number;
  readonly #keys: Float32Array[];
  readonly #values: Float32Array[];
  /** How many numbers of each array, from its start, may have been written. */
  #touched = 0;

  constructor(shape: CacheShape, rowsMax: number, capacityMax: number) {
    this.shape = shape;
    this.rowsMax = rowsMax;
    this.capacityMax = capacityMax;
    this.#capacity = capacityMax;
    const size = rowsMax * shape.kvHeads * capacityMax * shape.headDim;
    const allocate = () => Array.from({ length: shape.layers }, () => new Float32Array(size));
    this.#keys = allocate();
    this.#values = allocate();
  }

  /** Positions that a row can hold now. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Move the first `rows` rows to another stride; positions beyond the smaller capacity are lost. */
  resize(capacity: number, rows: number): void {
    if (capacity > this.capacityMax) {
      throw new Error(`capacity ${capacity} is above the cache's ${this.capacityMax}`);
    }
    const from = this.#capacity * this.shape.headDim;
    const to = capacity * this.shape.headDim;
    const heads = rows * this.shape.kvHeads;
    if (from === to) return;
    for (const array of [...this.#keys, ...this.#values]) {
      if (to > from) for (let i = heads - 1; i > 0; i--) move(array, i * from, i * to, from);
      else for (let i = 1; i < heads; i++) move(array, i * from, i * to, to);
    }
    this.#capacity = capacity;
    this.#touch(rows);
  }

  /** Zeros everywhere, as at the start; what was never written is not touched. */
  clear(): void {
    for (const array of [...this.#keys, ...this.#values]) array.fill(0, 0, this.#touched);
    this.#touched = 0;
  }

  /** The first `rows` rows are written to. */
  #touch(rows: number): void {
    const { kvHeads, headDim } = this.shape;
    this.#touched = Math.max(this.#touched, rows * kvHeads * this.#capacity * headDim);
  }

  /** Per layer, a view of `count` rows from `first`: [count, kvHeads, capacity, headDim]. */
  view(first: number, count: number): { keys: Float32Array[]; values: Float32Array[] } {
    const size = this.shape.kvHeads * this.#capacity * this.shape.headDim;
    const cut = (array: Float32Array) => array.subarray(first * size, (first + count) * size);
    return { keys: this.#keys.map(cut), values: this.#values.map(cut) };
  }

  /**
   * Store the first `count` new positions of batch row `source` (of `width`) in `row`, from `position` on.
   */
  write(
    row: number,
    position: number,
    count: number,
    from: NewRows,
    source: number,
    width: number,
  ): void {
    const { layers, kvHeads, headDim } = this.shape;
    this.#touch(row + 1);
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < kvHeads; head++) {
        const start = (source * kvHeads + head) * width * headDim;
        const to = ((row * kvHeads + head) * this.#capacity + position) * headDim;
        copy(from.keys[layer]!, start, this.#keys[layer]!, to, count * headDim);
        copy(from.values[layer]!, start, this.#values[layer]!, to, count * headDim);
      }
    }
  }

  /** Copy the first `length` positions of a row (of this or another cache of the same shape) into `row`. */
  copyFrom(source: KvCache, sourceRow: number, row: number, length: number): void {
    const { layers, kvHeads, headDim } = this.shape;
    this.#touch(row + 1);
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < kvHeads; head++) {
        const from = (sourceRow * kvHeads + head) * source.#capacity * headDim;
        const to = (row * kvHeads + head) * this.#capacity * headDim;
        copy(source.#keys[layer]!, from, this.#keys[layer]!, to, length * headDim);
        copy(source.#values[layer]!, from, this.#values[layer]!, to, length * headDim);
      }
    }
  }
}

function move(array: Float32Array, from: number, to: number, length: number): void {
  array.copyWithin(to, from, from + length);
}

/** Short runs in a loop: making a view costs more than copying a few dozen numbers. */
function copy(
  source: Float32Array,
  from: number,
  target: Float32Array,
  to: number,
  length: number,
): void {
  if (length > 128) target.set(source.subarray(from, from + length), to);
  else for (let i = 0; i < length; i++) target[to + i] = source[from + i]!;
}
