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

describe('text functions as in Python', () => {
  test('strip the separators U+001C to U+001F and U+0085, but not U+FEFF', () => {
    expect(strip('\u001c\u0085 a b \u001f\u3000')).toBe('a b');
    expect(strip('\ufeffa')).toBe('\ufeffa');
  });

  test('strip one end if asked to', () => {
    expect(stripStart('  a ')).toBe('a ');
    expect(stripEnd('  a ')).toBe('  a');
  });

  test('strip the end in linear time on a long run of blanks within the text', () => {
    const text = `${' '.repeat(200_000)}x`;
    expect(stripEnd(text)).toBe(text);
  });

  test('split at every kind of white space, and give no words for a blank text', () => {
    expect(words(' a\u0085b\u2003c\n')).toEqual(['a', 'b', 'c']);
    expect(words(' \t')).toEqual([]);
  });

  test('count lengths in code points', () => {
    expect(codePoints('a😀b')).toBe(3);
  });

  test('drop articles only as whole words of any script', () => {
    expect(withoutArticles('the cat')).toBe('  cat');
    expect(withoutArticles('éa then ana_a')).toBe('éa then ana_a');
  });

  test('treat only ASCII as punctuation', () => {
    expect(withoutPunctuation('a-b_c, „d“ …')).toBe('abc „d“ …');
  });
});
