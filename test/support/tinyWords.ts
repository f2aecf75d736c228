/** A small word tokenizer with the tags of a trajectory, for tests that need text and tokens. */
import type { Tokenizer } from '../../model/engine.ts';
import { wordTokenizer } from '../../model/wordTokenizer.ts';
import type { Dialect } from '../../operators/dialect/dialect.ts';
import { tagsDialect } from '../../operators/dialect/tagsDialect.ts';

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

/** The tags over a small tokenizer; the question is the prompt. */
export function tinyDialect(
  tools: readonly string[] = ['search', 'python'],
  tokenizer: Tokenizer = tinyWords,
): Dialect {
  const prompt = (question: string) => tokenizer.encode(question, { tags: false });
  return tagsDialect({ tokenizer, tools, prompt });
}
