import { describe, expect, test } from '@jest/globals';
import {
  codePoints,
  strip,
  stripEnd,
  stripStart,
  withoutArticles,
  withoutPunctuation,
  words,
} from '../../../operators/text/characters.ts';

describe('characters as Python sees them', () => {
  test('strip takes the separators U+001C-001F and U+0085 off, but leaves U+FEFF', () => {
    expect(strip('\u001c\u0085 a b \u001f\u3000')).toBe('a b');
    expect(strip('\ufeffa')).toBe('\ufeffa');
  });

  test('strip works on one end when asked', () => {
    expect(stripStart('  a ')).toBe('a ');
    expect(stripEnd('  a ')).toBe('  a');
  });

  test('stripEnd stays fast on a long run of blanks that does not end the text', () => {
    const text = `${' '.repeat(200_000)}x`;
    expect(stripEnd(text)).toBe(text);
  });

  test('words splits at every kind of white space and gives none for a blank text', () => {
    expect(words(' a\u0085b\u2003c\n')).toEqual(['a', 'b', 'c']);
    expect(words(' \t')).toEqual([]);
  });

  test('lengths count code points', () => {
    expect(codePoints('a😀b')).toBe(3);
  });

  test('articles go as whole words of any script only', () => {
    expect(withoutArticles('the cat')).toBe('  cat');
    expect(withoutArticles('éa then ana_a')).toBe('éa then ana_a');
  });

  test('punctuation is ASCII only', () => {
    expect(withoutPunctuation('a-b_c, „d“ …')).toBe('abc „d“ …');
  });
});
