/**
 * The vocabulary of the small policy: tags, what JSON has around its values in one token each, digits and the
 * world's words.
 */
import type { WordVocabulary } from 'millrace';
import {
  foldPrompt,
  memoryKinds,
  type NoticeKind,
  noticeText,
  pythonJson,
} from 'millrace/operators';
import { functions, KINDS, NAMES, PROPERTIES } from './functions.ts';
import { memoryOf } from './memory.ts';

const TAGS = [
  '<|end|>',
  '<|question|>',
  '<think>',
  '</think>',
  '<tool_search>',
  '</tool_search>',
  '<tool_call>',
  '</tool_call>',
  '<fold_thought>',
  '\n\n<tool_search_result>',
  '</tool_search_result>\n\n',
  '\n\n<tool_call_result>',
  '</tool_call_result>\n\n',
  '\n\n<system_message>',
  '</system_message>\n\n',
];

/** Separates the words in a list of functions. */
function listPieces(): readonly string[] {
  const text = pythonJson(functions.slice(0, 2), 2);
  const [a, b] = functions as [(typeof functions)[number], (typeof functions)[number]];
  const [before, , rest] = cut(text, a.name, a.description);
  const [between, , end] = cut(rest!, b.name, b.description);
  const [described] = cut(text.slice(before!.length + a.name.length), a.description, '');
  const alone = pythonJson(functions.slice(0, 1), 2);
  return [before!, described!, between!, end!, alone.slice(-end!.length)];
}

/** The text before `first`, between it and `second`, and after. */
function cut(text: string, first: string, second: string): readonly string[] {
  const at = text.indexOf(first);
  const then = text.indexOf(second, at + first.length);
  return [text.slice(0, at), text.slice(at + first.length, then), text.slice(then + second.length)];
}

/** What surrounds the findings in the memories of zero, one and two calls. */
function memoryPieces(): readonly string[] {
  const call = (of: string): string =>
    `<tool_call>{"name": "kite_age", "arguments": {"of": "${of}"}}</tool_call> <tool_call_result>{"age": 7}`;
  const pieces = ['', call('Bora'), `${call('Bora')} ${call('Bora')}`].flatMap((steps) => {
    const [episodic, working, tool] = memoryKinds.map((kind) =>
      pythonJson(JSON.parse(memoryOf(kind, steps)), 2),
    ) as [string, string, string];
    const text = foldPrompt(
      { text: '', anchor: '', at: 0 },
      { episodic, working, tool },
      'repaired',
    );
    return text.split(/the age of the kite Bora|7/);
  });
  return pieces;
}

const NOTICES: readonly NoticeKind[] = [
  'repeatedSearch',
  'repeatedCall',
  'noFoldsLeft',
  'noActionsLeft',
  'noContextLeft',
  'empty',
];

/** The notice and the clause after it, without their tags. */
function noticePieces(): readonly string[] {
  return NOTICES.flatMap((kind) => {
    const [, notice = '', clause = ''] =
      /^\n\n<system_message>(.*)<\/system_message>\n\n(.*)$/s.exec(noticeText(kind)) ?? [];
    return [notice, clause];
  });
}

const SYMBOLS = [
  ...' \n.,?!:;()[]{}+-*/=_"\'',
  '\\boxed{',
  '{"name": "',
  '", "arguments": {"of": "',
  '", "arguments": {"name": "',
  '"}}',
  '{"',
  '": ',
  'Error calling tool: ',
  ' needs the argument "of"',
  '{"error": "there is no ',
  ' of that name"}',
];

/** The vocabulary. */
export function vocabulary(): WordVocabulary {
  const symbols = [...SYMBOLS, ...listPieces(), ...memoryPieces(), ...noticePieces()];
  const words = [
    ...'0123456789',
    ...'What is the of and a Gives Go I so'.split(' '),
    ...KINDS,
    ...PROPERTIES,
    ...NAMES,
  ];
  return {
    kind: 'words',
    tags: TAGS,
    symbols: [...new Set(symbols)].filter((piece) => piece !== ''),
    words: [...new Set(words)],
  };
}
