/** Text of others as the page shows it, and where colours go in it. */
import { describe, expect, test } from '@jest/globals';
import { blocksOf, tagsOf } from '../../../page/browser/logic/blocks.ts';
import { shownText } from '../../../page/browser/logic/shownText.ts';

describe('untrusted text', () => {
  test('shows invisible characters, and those that change the direction of writing', () => {
    expect(shownText('a\u202eb\u0007c\u200bd').text).toBe('a⟨U+202E⟩b⟨U+0007⟩c⟨U+200B⟩d');
    expect(shownText('\u001b[31mred').text).toBe('⟨U+001B⟩[31mred');
    expect(shownText('\u{e0041}').text).toBe('⟨U+E0041⟩');
  });

  test('keeps lines, tabs, markup and other scripts as they are', () => {
    const text = 'a\n\tb <img src=x onerror=alert(1)> ü 東京 👩‍';
    expect(shownText(text.replace('\u200d', '')).text).toBe(text.replace('\u200d', ''));
  });

  test('maps offsets of the original to the shown text and back', () => {
    const original = 'ab\u202ecd\u0007ef';
    const shown = shownText(original);
    for (let offset = 0; offset < original.length; offset++) {
      const character = original[offset]!;
      const at = shown.at(offset);
      if (!'\u202e\u0007'.includes(character)) expect(shown.text[at]).toBe(character);
      expect(shown.from(at)).toBe(offset);
    }
    expect(shown.marks.map(({ start, end }) => shown.text.slice(start, end))).toEqual([
      '⟨U+202E⟩',
      '⟨U+0007⟩',
    ]);
  });
});

describe('blocks of a long text', () => {
  test('are the whole text in whole lines', () => {
    const text = Array.from({ length: 900 }, (_, i) => `line ${i} of it`).join('\n');
    const blocks = blocksOf(text);
    expect(blocks.length).toBeGreaterThan(3);
    expect(blocks.join('')).toBe(text);
    expect(blocks.slice(0, -1).every((block) => block.endsWith('\n'))).toBe(true);
  });

  test('keep an endless line in one block', () => {
    expect(blocksOf('x'.repeat(9000))).toHaveLength(1);
  });
});

test('tags are found with their content', () => {
  const text = '<think>so</think><search>x</search> 1 < 2 <b> <answer>';
  expect(tagsOf(text).map(({ start, end, kind }) => [text.slice(start, end), kind])).toEqual([
    ['<think>', 'think'],
    ['</think>', 'think'],
    ['<search>', 'tool'],
    ['</search>', 'tool'],
    ['<answer>', 'answer'],
  ]);
});
