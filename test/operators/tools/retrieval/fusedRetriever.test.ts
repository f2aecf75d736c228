/** Fusion and words against sums that are written out here. */
import { describe, expect, test } from '@jest/globals';
import { bm25Retriever } from '../../../../operators/tools/retrieval/bm25Retriever.ts';
import { fused, fusedRetriever } from '../../../../operators/tools/retrieval/fusedRetriever.ts';
import type { Hit, Passage } from '../../../../operators/tools/retrieval/retriever.ts';
import { gatedRetriever, millPassages } from '../../../support/gatedRetriever.ts';

const signal = new AbortController().signal;
const list = (...hits: readonly (readonly [string, number])[]): Hit[] =>
  hits.map(([id, score]) => ({ id, contents: `of ${id}`, score }));
const shown = (hits: readonly Hit[]) => hits.map(({ id, score }) => [id, score]);

/** BM25+ by its formula, text by text. */
function slowBm25(passages: readonly Passage[], query: string, top: number): Hit[] {
  const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const texts = passages.map(({ contents }) => words(contents));
  const mean = texts.reduce((sum, { length }) => sum + length, 0) / texts.length;
  const score = (text: readonly string[]): number =>
    words(query).reduce((sum, word) => {
      const has = texts.filter((other) => other.includes(word)).length;
      const count = text.filter((other) => other === word).length;
      const idf = Math.log(1 + (texts.length - has + 0.5) / (has + 0.5));
      const norm = 1.2 * (1 - 0.7 + (0.7 * text.length) / mean);
      return count === 0 ? sum : sum + idf * (0.5 + (count * 2.2) / (count + norm));
    }, 0);
  const hits = passages.map((passage, i) => ({ ...passage, score: score(texts[i]!) }));
  return hits
    .filter((hit) => hit.score > 0)
    .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
    .slice(0, top);
}

describe('reciprocal rank fusion', () => {
  test('adds 1 / (60 + rank) over the lists, and looks at no score', () => {
    const dense = list(['a', 0.9], ['b', 0.8], ['c', 0.1]);
    const words = list(['c', 700], ['a', 3]);
    expect(shown(fused([dense, words], { method: 'rrf' }))).toEqual([
      ['a', 1 / 61 + 1 / 62],
      ['c', 1 / 63 + 1 / 61],
      ['b', 1 / 62],
    ]);
  });

  test('breaks ties by id, whatever the order of the lists', () => {
    const one = list(['z', 2], ['m', 1]);
    const other = list(['m', 2], ['z', 1]);
    expect(fused([one, other], { method: 'rrf' }).map(({ id }) => id)).toEqual(['m', 'z']);
    expect(fused([other, one], { method: 'rrf' }).map(({ id }) => id)).toEqual(['m', 'z']);
  });
});

describe('weighted fusion', () => {
  test('scales each list to 0 … 1 and adds by weight', () => {
    const dense = list(['a', 0.9], ['b', 0.8], ['c', 0.5]);
    const words = list(['b', 12], ['d', 4]);
    const hits = fused([dense, words], { method: 'weighted', weights: [0.6, 0.4] });
    expect(hits.map(({ id }) => id)).toEqual(['b', 'a', 'c', 'd']);
    const scores = Object.fromEntries(shown(hits)) as Record<string, number>;
    expect(scores.b).toBeCloseTo(0.6 * 0.75 + 0.4, 12);
    expect(scores).toMatchObject({ a: 0.6, c: 0, d: 0 });
  });

  test('counts every entry of a list of equal scores', () => {
    expect(shown(fused([list(['a', 5])], { method: 'weighted', weights: [0.3] }))).toEqual([
      ['a', 0.3],
    ]);
    expect(fused([[], []], { method: 'weighted' })).toEqual([]);
  });
});

describe('a fused retriever', () => {
  test('asks every part for the same candidates, so that the first three of ten are the first three', async () => {
    const [one, other] = [gatedRetriever(), gatedRetriever()];
    const both = fusedRetriever([one, other], { method: 'rrf' });
    const [ten = []] = await both.retrieve(['the water of the wheel'], 10, signal);
    const [two = []] = await both.retrieve(['the water of the wheel'], 2, signal);
    expect(ten.slice(0, 2)).toEqual(two);
    expect([...one.calls, ...other.calls].map(({ top }) => top)).toEqual([100, 100, 100, 100]);
    expect(both.passages).toBe(3);
    await both.close();
    expect([one.closed, other.closed]).toEqual([true, true]);
  });
});

describe('passages found by words', () => {
  test('are ranked by their contents, with ties by id', async () => {
    const twins: Passage[] = ['q', 'd', 'm'].map((id) => ({ id, contents: 'the same words' }));
    const retriever = await bm25Retriever([...millPassages, ...twins], signal);
    expect(retriever.passages).toBe(6);
    const hits = await retriever.retrieve(['race', 'same words', 'nothing here'], 2, signal);
    expect(hits.map((each) => each.map(({ id }) => id))).toEqual([['a'], ['d', 'm'], []]);
  });

  test('are scored by BM25+, whichever retriever reads them', async () => {
    const vocabulary = ['mill', 'race', 'the', 'weir', 'Ada', 'Wheel,', 'été'];
    const draw = (n: number, of: number): number => Math.floor(uniform(n) * of);
    const uniform = (n: number): number => (Math.sin(n * 12.9898) * 43758.5453) % 1;
    const passages = Array.from({ length: 60 }, (_, row) => {
      const words = Array.from({ length: 1 + (row % 9) }, (_, i) => {
        return vocabulary[Math.abs(draw(row * 31 + i, 7)) % 7]!;
      });
      return { id: `p${59 - row}`, contents: words.join(row % 2 === 0 ? ' ' : '\n') };
    });
    const read: number[] = [];
    const retriever = await bm25Retriever(passages, signal, async (row) => {
      read.push(row);
      return passages[row]!;
    });
    for (const query of ['the mill', 'ADA wheel wheel', 'été!', 'weir']) {
      const [found] = await retriever.retrieve([query], 7, signal);
      expect(found!.map(({ id }) => id)).toEqual(slowBm25(passages, query, 7).map(({ id }) => id));
      for (const [i, hit] of slowBm25(passages, query, 7).entries()) {
        expect(found![i]!.score).toBeCloseTo(hit.score, 9);
      }
    }
    expect(read.length).toBeLessThanOrEqual(28);
  });

  test('must have unique ids', async () => {
    const twice = [...millPassages, { id: 'b', contents: 'again' }];
    await expect(bm25Retriever(twice, signal)).rejects.toMatchObject({
      code: 'RETRIEVER',
      message: expect.stringContaining('id "b"'),
    });
  });

  test('are no longer read when no one waits for them', async () => {
    const call = new AbortController();
    async function* endless(): AsyncGenerator<Passage> {
      for (let id = 0; ; id++) {
        if (id === 1500) call.abort(new Error('enough'));
        yield { id: String(id), contents: 'x' };
      }
    }
    await expect(bm25Retriever(endless(), call.signal)).rejects.toThrow('enough');
  });
});
