/** `tokens.bin`: a response's text with a few bytes per token, laid out as page/wire says. Pure. */
import type { Rollout } from '../../../topics/index.ts';
import { TOKENS_MAGIC, type TokensHeader, WIRE } from '../../wire/index.ts';
import type { Pieces } from './pieces.ts';
import { versionsOf } from './rollouts.ts';

const UNKNOWN = 255;
const STEPS = 254;

export function tokensBin(rollout: Rollout, { text, lengths }: Pieces): Uint8Array {
  const count = rollout.tokens.length;
  const textBytes = Buffer.from(text);
  const entropies = entropyOf(rollout);
  const logProbs = logProbOf(rollout);
  const versions = versionsOf(rollout).slice(0, UNKNOWN);
  const [entropy, logProb] = [scaleOf(entropies), scaleOf(logProbs)];
  const header: TokensHeader = {
    wire: WIRE,
    tokens: count,
    textBytes: textBytes.length,
    entropy,
    logProb,
    versions,
  };
  const json = Buffer.from(JSON.stringify(header));
  const headerBytes = padded(json.length);
  const textAt = 8 + headerBytes;
  const lengthsAt = textAt + padded(textBytes.length);
  const bin = Buffer.alloc(lengthsAt + 6 * count);
  bin.write(TOKENS_MAGIC, 0, 'latin1');
  bin.writeUInt32LE(headerBytes, 4);
  bin.fill(0x20, 8, textAt);
  json.copy(bin, 8);
  textBytes.copy(bin, textAt);
  for (const [i, length] of lengths.entries()) bin.writeUInt16LE(length, lengthsAt + 2 * i);
  const column = (number: number): Buffer => {
    const from = lengthsAt + (2 + number) * count;
    return bin.subarray(from, from + count);
  };
  quantise(entropies, entropy, column(0));
  quantise(logProbs, logProb, column(1));
  column(2).fill(UNKNOWN);
  for (const { kind, start, end, version } of rollout.segments) {
    column(2).fill(Math.max(0, versions.indexOf(version)), start, end);
    column(3).fill(kind === 'tool' ? 1 : 0, start, end);
  }
  return bin;
}

function padded(bytes: number): number {
  return 4 * Math.ceil(bytes / 4);
}

/** NaN if it is not known: a turn's entropy is repeated at each of its tokens. */
function entropyOf({ tokens, segments }: Rollout): Float64Array {
  const values = new Float64Array(tokens.length).fill(Number.NaN);
  for (const { start, end, entropy } of segments) {
    if (entropy !== null) values.fill(entropy, start, end);
  }
  return values;
}

/** NaN for a tool's text, which was not sampled. */
function logProbOf({ tokens, logProbs, segments }: Rollout): Float64Array {
  const values = new Float64Array(tokens.length).fill(Number.NaN);
  for (const { kind, start, end } of segments) {
    if (kind === 'policy') values.set(logProbs.subarray(start, end), start);
  }
  return values;
}

/** Null if nothing is known. */
function scaleOf(values: Float64Array): { readonly from: number; readonly to: number } | null {
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    from = Math.min(from, value);
    to = Math.max(to, value);
  }
  return from > to ? null : { from, to };
}

function quantise(
  values: Float64Array,
  scale: { readonly from: number; readonly to: number } | null,
  into: Uint8Array,
): void {
  const span = scale === null ? 0 : scale.to - scale.from;
  for (const [i, value] of values.entries()) {
    into[i] =
      scale === null || !Number.isFinite(value)
        ? UNKNOWN
        : span === 0
          ? 0
          : Math.round((STEPS * (value - scale.from)) / span);
  }
}
