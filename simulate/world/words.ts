/** The words of a simulated policy, how it calls its tool, and its questions. */
import { draws, type SleepClock } from '../../base/index.ts';
import { type Tokenizer, wordTokenizer } from '../../model/index.ts';
import { type Dialect, tagsDialect } from '../../operators/dialect/index.ts';
import { resumable } from '../../streams/index.ts';

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

function sum(i: number) {
  const [a, b] = [i % 10, Math.floor(i / 10) % 10];
  return {
    id: `sum-${i}`,
    question: `What is ${a} + ${b}?`,
    answers: [String(a + b)],
    source: 'simulated',
    ability: 'math' as const,
  };
}

/** Sums of single digits. */
export async function* sums(count: number) {
  for (let i = 0; i < count; i++) yield { value: sum(i) };
}

/** The same, endless and one by one, sometimes with long pauses. */
export function arriving(clock: SleepClock, medianMs: number, seed: number) {
  const gaps = draws('arrival', seed);
  const from = resumable(async function* (cursor: string | null, signal: AbortSignal) {
    for (let i = Number(cursor ?? 0); ; i++) {
      const long = gaps.uniform(2 * i) < 0.05 ? 20 : 1;
      await clock.sleep(long * medianMs * 2 * gaps.uniform(2 * i + 1), signal);
      yield { value: sum(i), cursor: String(i + 1) };
    }
  });
  return { ...from, name: 'arrivals' };
}
