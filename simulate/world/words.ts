/** The words of a simulated policy, how it calls its tool, and what it is asked. */
import { type Tokenizer, wordTokenizer } from '../../model/index.ts';
import { type Dialect, tagsDialect } from '../../operators/dialect/index.ts';

const tags = ['think', 'search', 'result', 'answer'];

export const words: Tokenizer = wordTokenizer({
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

export const dialect: Dialect = tagsDialect({
  tokenizer: words,
  tools: ['search'],
  prompt: (question) => words.encode(question, { tags: false }),
});

/** Sums of single digits. */
export async function* sums(count: number) {
  for (let i = 0; i < count; i++) {
    const [a, b] = [i % 10, Math.floor(i / 10)];
    yield {
      value: {
        id: `sum-${i}`,
        question: `What is ${a} + ${b}?`,
        answers: [String(a + b)],
        source: 'simulated',
        ability: 'math' as const,
      },
    };
  }
}
