/** `tokens.bin` read as wire.ts lays it out, and the colours that follow from it. */
import { describe, expect, test } from '@jest/globals';
import { highest, levelOf, runsOf, stripOf } from '../../../page/browser/logic/paint.ts';
import { readTokens, tokenAt } from '../../../page/browser/logic/tokens.ts';
import { TOKENS_MAGIC, type TokensHeader, WIRE } from '../../../page/wire/index.ts';

interface Given {
  readonly text: string;
  /** −log-prob; null = unknown. */
  readonly surprise: number | null;
  readonly version: number;
  readonly tool?: boolean;
}

function binOf(tokens: readonly Given[]): ArrayBuffer {
  const text = Buffer.from(tokens.map((token) => token.text).join(''));
  const versions = [...new Set(tokens.map(({ version }) => version))];
  const header: TokensHeader = {
    wire: WIRE,
    tokens: tokens.length,
    textBytes: text.length,
    entropy: null,
    logProb: { from: -25.4, to: 0 },
    versions,
  };
  let json = JSON.stringify(header);
  while ((8 + json.length) % 4 !== 0) json += ' ';
  const lengths = Buffer.alloc(2 * tokens.length);
  tokens.forEach((token, i) => {
    lengths.writeUInt16LE(token.text.length, 2 * i);
  });
  const column = (of: (token: Given) => number): Buffer => Buffer.from(tokens.map(of));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(json.length);
  const bytes = Buffer.concat([
    Buffer.from(TOKENS_MAGIC),
    size,
    Buffer.from(json),
    text,
    Buffer.alloc((4 - (text.length % 4)) % 4),
    lengths,
    column(() => 255),
    column(({ surprise }) => (surprise === null ? 255 : Math.round((25.4 - surprise) * 10))),
    column(({ version }) => versions.indexOf(version)),
    column(({ tool }) => (tool === true ? 1 : 0)),
  ]);
  return new Uint8Array(bytes).buffer;
}

const given: readonly Given[] = [
  { text: 'Paris', surprise: 0, version: 3 },
  { text: ' – ü', surprise: 4, version: 3 },
  { text: '', surprise: 0, version: 3 },
  { text: '😀', surprise: 6, version: 4 },
  { text: 'tool said', surprise: 9, version: 4, tool: true },
];

describe('tokens.bin', () => {
  const tokens = readTokens(binOf(given))!;

  test('holds the text of each token and what is known of it', () => {
    given.forEach((token, i) => {
      expect(tokens.text.slice(tokens.starts[i], tokens.starts[i + 1])).toBe(token.text);
      expect(tokens.logProb![i]).toBeCloseTo(-token.surprise!, 5);
      expect(tokens.version(i)).toBe(token.version);
      expect(tokens.isTool(i)).toBe(token.tool === true);
    });
    expect(tokens.entropy).toBeNull();
  });

  test('is refused if it is truncated or something else', () => {
    const whole = binOf(given);
    expect(readTokens(whole.slice(0, whole.byteLength - 1))).toBeNull();
    expect(readTokens(new TextEncoder().encode('{"error":1}').buffer as ArrayBuffer)).toBeNull();
    expect(readTokens(new ArrayBuffer(0))).toBeNull();
  });

  test('finds the token at an offset', () => {
    expect([0, 4, 5, 9, 400].map((offset) => tokenAt(tokens.starts, offset))).toEqual([
      0, 0, 1, 3, 4,
    ]);
  });
});

describe('the colours of tokens', () => {
  const tokens = readTokens(binOf(given))!;

  test('are absent for expected tokens and tool text, and merge neighbours of one step', () => {
    expect(runsOf(tokens, 'logprob').filter(({ name }) => name !== 'top')).toEqual([
      { name: 'level6', start: 1, end: 2 },
      { name: 'level7', start: 3, end: 4 },
    ]);
    expect(runsOf(tokens, 'version')).toEqual([
      { name: 'version0', start: 0, end: 3 },
      { name: 'version1', start: 3, end: 4 },
    ]);
    expect(runsOf(tokens, 'none')).toEqual([]);
    expect(runsOf(tokens, 'entropy')).toEqual([]);
  });

  test('have the same steps for all trajectories', () => {
    expect([0, 0.1, 0.5, 100].map((amount) => levelOf(amount, 'logprob'))).toEqual([0, 1, 2, 7]);
    expect(levelOf(Number.NaN, 'logprob')).toBe(0);
  });

  test('keep the highest of each part in the strip', () => {
    const long = readTokens(
      binOf(
        Array.from({ length: 1000 }, (_, i) => ({
          text: 'x',
          surprise: i === 501 ? 8 : 0,
          version: 1,
        })),
      ),
    )!;
    const strip = stripOf(long, 'logprob', 100);
    expect(strip[50]).toBeCloseTo(8, 1);
    expect(strip.filter((amount) => amount > 1)).toHaveLength(1);
    expect(highest(long, 'logprob')).toBeCloseTo(8, 1);
  });
});
