/**
 * The vocabulary of the quickstart's policy: tags, punctuation, digits, template words and the world's names.
 */
import type { WordVocabulary } from 'millrace';
import { FIRM_KINDS, FIRM_NAMES, FIRST_NAMES, LAST_NAMES, RIVERS, TOWNS } from './names.ts';

const TAGS = [
  '<|end|>',
  '<|question|>',
  '<think>',
  '</think>',
  '<search>',
  '</search>',
  '<python>',
  '</python>',
  '<result>',
  ' <result>\n',
  '\n</result>',
  '</result>',
  '<answer>',
  '</answer>',
];
const SYMBOLS = [
  ' ',
  '\n',
  '.',
  ',',
  '?',
  '!',
  ':',
  ';',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  '+',
  '-',
  '*',
  '/',
  '=',
  '_',
  '"',
  "'",
  '\\boxed{',
  '. ',
  ', ',
  ' + ',
  ' - ',
  ' * ',
];
const TEMPLATE_WORDS = `
What is where Where was born Which firm does work for In which year On river lie town founded the that works How old
I look up compute it Let me check again think know It So Page print a on the was in works Born comes from Founded
lies has its seat of people are an and to not can be with this one two three
`;

/** `more` = additional words of another world, after those of the small one, whose tokens keep their ids. */
export function vocabulary(more: readonly string[] = []): WordVocabulary {
  const words = [
    ...'0123456789',
    ...TEMPLATE_WORDS.split(/\s+/).filter((word) => word !== ''),
    ...FIRST_NAMES,
    ...LAST_NAMES,
    ...TOWNS,
    ...RIVERS,
    ...FIRM_NAMES,
    ...FIRM_KINDS,
    ...more,
  ];
  return { kind: 'words', tags: TAGS, symbols: SYMBOLS, words: [...new Set(words)] };
}
