/**
 * An encoder whose vectors count the words of a small vocabulary: texts that share words are near each other.
 */
import type { TextEncoder } from '../../model/encoder/encoder.ts';

export interface WordEncoder extends TextEncoder {
  /** What was encoded, call by call. */
  readonly encoded: readonly (readonly string[])[];
  readonly closed: boolean;
}

export function wordEncoder(words: readonly string[], digest = 'w'.repeat(64)): WordEncoder {
  const encoded: (readonly string[])[] = [];
  let closed = false;
  return {
    encoded,
    digest,
    dimensions: words.length,
    settings: {
      pooling: 'mean',
      queryPrefix: '',
      passagePrefix: '',
      normalised: true,
      tokensMax: 512,
    },
    get closed() {
      return closed;
    },
    async encode(texts, _as, signal) {
      signal.throwIfAborted();
      encoded.push(texts);
      const rows = texts.map((text) => {
        const counts = words.map((word) => text.toLowerCase().split(word).length - 1);
        const length = Math.hypot(...counts) || 1;
        return counts.map((count) => count / length);
      });
      return Float32Array.from(rows.flat());
    },
    async close() {
      closed = true;
    },
  };
}
