/** `tokens.bin` read: where each token of a response is in its text, and what is known of it. Pure. */
import { TOKENS_MAGIC, type TokensHeader } from '../../wire/index.ts';

export interface Tokens {
  readonly count: number;
  readonly text: string;
  /** UTF-16 offset of token i; one more at the end. */
  readonly starts: Uint32Array;
  /** NaN where it is unknown; null if it is unknown everywhere. */
  readonly entropy: Float32Array | null;
  readonly logProb: Float32Array | null;
  readonly version: (token: number) => number | null;
  readonly isTool: (token: number) => boolean;
}

/** Null if it is not such a file, or is truncated. */
export function readTokens(buffer: ArrayBuffer): Tokens | null {
  const bytes = new Uint8Array(buffer);
  const view = new DataView(buffer);
  if (bytes.length < 8) return null;
  const decoder = new TextDecoder();
  if (decoder.decode(bytes.subarray(0, 4)) !== TOKENS_MAGIC) return null;
  const headerEnd = 8 + view.getUint32(4, true);
  if (headerEnd > bytes.length) return null;
  const header = JSON.parse(decoder.decode(bytes.subarray(8, headerEnd))) as TokensHeader;
  const count = header.tokens;
  const lengthsAt = headerEnd + 4 * Math.ceil(header.textBytes / 4);
  const columnsAt = lengthsAt + 2 * count;
  if (columnsAt + 4 * count > bytes.length) return null;
  const starts = new Uint32Array(count + 1);
  for (let i = 0; i < count; i++)
    starts[i + 1] = starts[i]! + view.getUint16(lengthsAt + 2 * i, true);
  const column = (place: number): Uint8Array =>
    bytes.subarray(columnsAt + place * count, columnsAt + (place + 1) * count);
  const scaled = (place: number, scale: { readonly from: number; readonly to: number } | null) => {
    if (scale === null) return null;
    const step = (scale.to - scale.from) / 254;
    return Float32Array.from(column(place), (byte) =>
      byte === 255 ? Number.NaN : scale.from + byte * step,
    );
  };
  const [versions, authors] = [column(2), column(3)];
  return {
    count,
    text: decoder.decode(bytes.subarray(headerEnd, headerEnd + header.textBytes)),
    starts,
    entropy: scaled(0, header.entropy),
    logProb: scaled(1, header.logProb),
    version: (token) => header.versions[versions[token]!] ?? null,
    isTool: (token) => authors[token] === 1,
  };
}

/** Which token holds the character at this offset; the last one for an offset after the end. */
export function tokenAt(starts: Uint32Array, offset: number): number {
  let [low, high] = [0, Math.max(0, starts.length - 2)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
