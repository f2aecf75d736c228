import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { draws } from '../../base/draws.ts';
import {
  loadWordTokenizer,
  type WordVocabulary,
  wordTokenizer,
} from '../../model/wordTokenizer.ts';
import { temporaryFolder } from '../support/folder.ts';

const vocabulary: WordVocabulary = {
  kind: 'words',
  tags: ['<|end|>', '<think>', '</think>', ' <result>\n', '\n</result>', 'STOP', '§'],
  symbols: [' ', '\n', '.', ',', '. ', ' + ', '+', '<', '>', '\\boxed{', '}', '(', ')', '^', '$'],
  words: [...'0123456789', 'born', 'in', 'the', 'town', 'Née', 'a'],
};
const tokenizer = wordTokenizer(vocabulary);
const tagIds = new Set(vocabulary.tags.map((tag) => tokenizer.id(tag)));

/** Pieces that a random text is made of: known and unknown words, tags and parts of tags, spaces, bytes. */
const PIECES = [
  ...vocabulary.tags,
  ...vocabulary.symbols,
  ...vocabulary.words,
  ...[
    '  ',
    '\t',
    '\r\n',
    'unknown',
    'Ω',
    '🌊',
    'e\u0301',
    '\uFEFF',
    '\u0000',
    '</',
    'result>',
    '|end|>',
    '٣',
    '-',
  ],
];

function randomText(seed: number): string {
  const stream = draws('tokenizer-fuzz', seed);
  const length = stream.integer(0, 40);
  return Array.from({ length }, (_, i) => PIECES[stream.integer(i + 1, PIECES.length)]).join('');
}

describe('wordTokenizer', () => {
  test('decodes any text that it encoded, with or without tags', () => {
    for (let seed = 0; seed < 3000; seed++) {
      const text = randomText(seed);
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
      expect(tokenizer.decode(tokenizer.encode(text, { tags: false }))).toBe(text);
    }
  });

  test.each([
    '',
    ' ',
    '   ',
    'a ',
    ' a',
    'a  a',
    '1 2',
    '12',
    'a1',
    '1a',
    'a 1',
    'aa',
    '\uFEFFa',
    'STOP',
  ])('decodes %j again', (text) => {
    expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
  });

  test('never makes a tag token of text from outside', () => {
    for (let seed = 0; seed < 3000; seed++) {
      const tokens = tokenizer.encode(randomText(seed), { tags: false });
      expect([...tokens].filter((token) => tagIds.has(token))).toEqual([]);
    }
  });

  test('makes one token of every tag, even between words', () => {
    for (const tag of vocabulary.tags) {
      expect([...tokenizer.encode(tag)]).toEqual([tokenizer.id(tag)]);
      const [before, after] = tag === 'STOP' ? ['.', '.'] : ['born', '1'];
      expect([...tokenizer.encode(`${before}${tag}${after}`)]).toContain(tokenizer.id(tag));
    }
  });

  test('spends nothing on the space between words', () => {
    expect(tokenizer.encode('born in the town')).toHaveLength(4);
    expect(tokenizer.encode('born in 19')).toHaveLength(4);
  });

  test('has its end token among its ids, and every id below its size', () => {
    expect(tokenizer.endToken).toBe(tokenizer.id('<|end|>'));
    for (let seed = 0; seed < 300; seed++) {
      for (const token of tokenizer.encode(randomText(seed))) {
        expect(token).toBeGreaterThanOrEqual(0);
        expect(token).toBeLessThan(tokenizer.vocabSize);
      }
    }
  });

  test('decodes any tokens that a policy may write', () => {
    const stream = draws('any-tokens');
    const tokens = Array.from({ length: 500 }, (_, i) => stream.integer(i, tokenizer.vocabSize));
    expect(typeof tokenizer.decode(tokens)).toBe('string');
    expect(() => tokenizer.decode([tokenizer.vocabSize])).toThrow('outside the vocabulary');
  });

  test('names a repeated entry and a missing token', () => {
    expect(() => wordTokenizer({ ...vocabulary, words: ['a', 'a'] })).toThrow('"a" twice');
    expect(() => tokenizer.id('<none>')).toThrow('"<none>"');
  });

  test('is read from a file, and refuses one of another kind', async () => {
    const folder = temporaryFolder();
    const path = join(folder.path, 'tokenizer.json');
    await writeFile(path, JSON.stringify(vocabulary));
    const loaded = await loadWordTokenizer(path);
    expect([...loaded.encode('born in 1')]).toEqual([...tokenizer.encode('born in 1')]);
    await writeFile(path, '{"kind":"bpe"}');
    await expect(loadWordTokenizer(path)).rejects.toThrow(path);
    folder.remove();
  });
});
