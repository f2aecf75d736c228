/** A small word tokenizer with the tags of a trajectory, for tests that need text and tokens. */
import type { Tokenizer } from '../../model/engine.ts';
import { wordTokenizer } from '../../model/wordTokenizer.ts';

/** The same words with the tags of these tools. */
export function tinyWordsWith(tools: readonly string[]): Tokenizer {
  const tags = ['think', ...tools, 'result', 'answer'];
  return wordTokenizer({
    kind: 'words',
    tags: [
      '<|end|>',
      ...tags.flatMap((tag) => [`<${tag}>`, `</${tag}>`]),
      ' <result>\n',
      '\n</result>',
    ],
    symbols: [' ', '\n', '.', ',', '?', '+', '\\boxed{', '}'],
    words: [...'0123456789', 'What', 'is', 'I', 'look', 'it', 'up', 'So', 'one', 'two', 'three'],
  });
}

export const tinyWords: Tokenizer = tinyWordsWith(['search', 'python']);
