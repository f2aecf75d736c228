import { describe, expect, it } from '@jest/globals';
import { Batcher } from '../../../model/rollout/batcher.ts';
import { StopTexts } from '../../../model/rollout/stopTexts.ts';
import { type TokenBytes, tokenBytes } from '../../../model/rollout/tokenBytes.ts';
import { expected, FakeForward, request, VOCAB } from './fakeForward.ts';

const TEXTS = ['a', '</', 'sea', 'rch', '>', '> and', '<', '/', 'search', '></search', '>>'];

/** Tokens with these texts, or bytes. */
function bytesOf(texts: readonly (string | readonly number[])[]): TokenBytes {
  const bytes = (id: number): Uint8Array => {
    const text = texts[id]!;
    return typeof text === 'string' ? new TextEncoder().encode(text) : Uint8Array.from(text);
  };
  return tokenBytes({
    vocabSize: texts.length,
    endToken: 0,
    bytes,
    encode: () => new Int32Array(0),
    decode: () => '',
    id: () => 0,
  });
}

/** What is completed by each of these tokens in turn. */
function run(stops: readonly string[], tokens: readonly number[]) {
  const search = new StopTexts(stops, bytesOf(TEXTS));
  return tokens.map((token) => search.completedBy(token));
}

describe('StopTexts', () => {
  it('finds a text that is spread over tokens, however it is cut', () => {
    const stop = '</search>';
    expect(run([stop], [0, 1, 2, 3, 4]).at(-1)).toBe(stop);
    expect(run([stop], [6, 7, 8, 4]).at(-1)).toBe(stop);
    expect(run([stop], [9, 4])).toEqual([undefined, stop]);
  });

  it('keeps the token that completes a text whole, if it goes on beyond it', () => {
    expect(run(['</search>'], [1, 8, 5])).toEqual([undefined, undefined, '</search>']);
  });

  it('takes the one of several texts that ends first', () => {
    expect(run(['> and', '>'], [5])).toEqual(['>']);
  });

  it('finds a text whose characters are split over tokens, and no other', () => {
    const [first, ...rest] = new TextEncoder().encode('é');
    const table = bytesOf(['<', [first!], [...rest, 0x3e], [0xc3, 0xa8], '>', 'x']);
    const search = (tokens: readonly number[]) => {
      const stops = new StopTexts(['<é>'], table);
      return tokens.map((token) => stops.completedBy(token));
    };
    expect(search([5, 0, 1, 2])).toEqual([undefined, undefined, undefined, '<é>']);
    expect(search([0, 3, 4]).some(Boolean)).toBe(false);
    expect(search([0, 1, 4]).some(Boolean)).toBe(false);
  });

  it('skips ids that the tokenizer does not know', () => {
    expect(run(['</search>'], [1, 8, 999, 4])).toEqual([
      ...[undefined, undefined, undefined, '</search>'],
    ]);
  });

  it('finds nothing in pieces that do not follow one another', () => {
    expect(run(['</search>'], [1, 8, 0, 4]).some(Boolean)).toBe(false);
    expect(run([], [1, 8, 4]).some(Boolean)).toBe(false);
  });
});

describe('a request with stop texts', () => {
  const texts = Array.from({ length: VOCAB }, (_, id) => String.fromCharCode(97 + id));
  const asked = request([1, 2, 3], { maxTokens: 40, draws: ['stop'] });
  const generate = async (
    stopTexts: readonly string[],
    known: readonly string[] | undefined,
    from: { readonly stopTextsFrom?: number } = {},
  ) => {
    const tokenBytes = known === undefined ? undefined : bytesOf(known);
    const options = { rowsMax: 1, contextMax: 100, prefixSlots: 0, tokenBytes };
    const batcher = new Batcher(new FakeForward(), 0, options);
    batcher.submit(0, { ...asked, ...from, stopTexts });
    for (;;) {
      await batcher.admit();
      const [outcome] = await batcher.step();
      if (outcome !== undefined) return 'result' in outcome ? outcome.result : outcome;
    }
  };

  it('ends with the text, says which, and has the tokens it would have had without', async () => {
    const whole = expected(asked, 100).tokens;
    const text = whole.map((token) => texts[token]).join('');
    const stop = text.slice(10, 13);
    const made = await generate(['never', stop], texts);
    const end = text.indexOf(stop) + 3;
    expect(made).toMatchObject({ finish: 'stop', stopText: stop });
    expect('tokens' in made && [...made.tokens]).toEqual(whole.slice(0, end));
  });

  it('finds a text that begins in the context only in tokens that count as generated', async () => {
    const first = expected(asked, 100).tokens[0]!;
    const stop = `${texts[3]}${texts[first]}`;
    expect(await generate([stop], texts, { stopTextsFrom: 2 })).toMatchObject({
      finish: 'stop',
      stopText: stop,
      tokens: Int32Array.of(first),
    });
    const without = await generate([stop], texts);
    expect('tokens' in without && without.tokens.length).toBeGreaterThan(1);
  });

  it('is refused if the texts of the tokens are not known', async () => {
    await expect(generate(['x'], undefined)).rejects.toThrow('start the engine with tokenBytes');
  });
});
