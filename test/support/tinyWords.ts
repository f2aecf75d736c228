/** A small word tokenizer with the tags of a trajectory, for tests that need text and tokens. */
import type { Tokenizer } from '../../model/engine.ts';
import { wordTokenizer } from '../../model/wordTokenizer.ts';

const TAGS = ['think', 'search', 'python', 'result', 'answer'];

export const tinyWords: Tokenizer = wordTokenizer({
  kind: 'words',
  tags: [
    '<|end|>',
    ...TAGS.flatMap((tag) => [`<${tag}>`, `</${tag}>`]),
    ' <result>\n',
    '\n</result>',
  ],
  symbols: [' ', '\n', '.', ',', '?', '+', '\\boxed{', '}'],
  words: [...'0123456789', 'What', 'is', 'I', 'look', 'it', 'up', 'So', 'one', 'two', 'three'],
});
