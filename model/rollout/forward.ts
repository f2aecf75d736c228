/**
 * What the decode loop needs from a model: two ways to push tokens through it, given what is cached.
 *
 * Both read the key/value cache of a run of rows and return the new key/value rows; neither writes the cache.
 * Both keep one promise that everything above rests on: what a position yields depends, bit for bit, only on
 * the tokens up to it. Not on the other rows, the padding, the cache's capacity, nor on which of the two
 * computed the positions before it.
 */

/** Sizes of one layer's keys (and values). */
export interface CacheShape {
  readonly layers: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

export interface ForwardInput {
  readonly rows: number;
  /** Tokens a row: 1 in `decode`. */
  readonly width: number;
  /** [rows, width]; a padded place holds token 0. */
  readonly tokens: Int32Array;
  /** [rows, width]; place in the context. Consecutive in a row, padding too. */
  readonly positions: Int32Array;
  /** Positions that the cache can hold a row; every real position is below it. */
  readonly capacity: number;
  /** Per layer [rows, kvHeads, capacity, headDim]; positions at and after a row's first are not read. */
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];
}

/** Per layer [rows, kvHeads, width, headDim]. */
export interface NewRows {
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];
}

export interface DecodeOutput extends NewRows {
  /** Softmax of the logits at temperature 1, [rows, vocabSize]. */
  readonly shares: Float32Array;
  /** The highest logit of each row, [rows]. */
  readonly peaks: Float32Array;
}

export interface Forward {
  readonly shape: CacheShape;
  readonly vocabSize: number;
  /** If there are fewer rows than this, add empty ones (token and position 0). */
  readonly rowsMin: number;
  /** Cache rows for several given tokens of each row; no probabilities. */
  prefill(input: ForwardInput): Promise<NewRows>;
  /** One token of each row: its cache rows and the probabilities of the token after it. */
  decode(input: ForwardInput): Promise<DecodeOutput>;
  release(): Promise<void>;
}
