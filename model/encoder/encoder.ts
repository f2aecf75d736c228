/**
 * An encoder of texts as its users see it: a vector for each text, close to those of texts that mean the
 * same.
 *
 * Guarantees: a text's vector does not depend on the other texts in its batch, beyond the rounding of 32-bit
 * sums.
 */

/** How the vectors of a text's tokens become one. */
export type Pooling = 'mean' | 'cls';

/**
 * Everything besides the weights that decides which vector a text gets. An index records these settings:
 * queries must be encoded with the same.
 */
export interface EncoderSettings {
  readonly pooling: Pooling;
  /** Prefix of a query: `query: ` for E5, an instruction for BGE. */
  readonly queryPrefix: string;
  /** Prefix of a passage: `passage: ` for E5. */
  readonly passagePrefix: string;
  /** Whether vectors have length 1, so that their product is the cosine. */
  readonly normalised: boolean;
  /** Longer texts are cut. */
  readonly tokensMax: number;
}

/** Settings left out are read from the folder. */
export interface EncoderOptions extends Partial<EncoderSettings> {
  /** Processor threads for one batch (default: half of those there are, at least one). */
  readonly threads?: number;
}

/** What a text is encoded as: the prefixes differ. */
export type EncodedAs = 'query' | 'passage';

/** A model that turns texts into vectors. */
export interface TextEncoder {
  readonly dimensions: number;
  /** The settings in force: those of the folder, and those given. */
  readonly settings: EncoderSettings;
  /** SHA-256 over weights and tokenizer, in hexadecimal: which encoder this is, wherever its folder is. */
  readonly digest: string;
  /** [texts, dimensions], row by row. Rejects with the signal's reason when it aborts. */
  encode(texts: readonly string[], as: EncodedAs, signal: AbortSignal): Promise<Float32Array>;
  close(): Promise<void>;
}

/** Opens a Hugging Face encoder folder. */
export type OpenEncoder = (folder: string, options?: EncoderOptions) => Promise<TextEncoder>;
