/**
 * Each set of the papers from its file to its row of the table: which number it counts by, and how its judge
 * is asked and read.
 */
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { planEvaluation } from '../../jobs/evaluate.ts';
import { judgedBenchmark } from '../../operators/metrics/graders/benchmark.ts';
import { type GraderName, graderOf } from '../../operators/metrics/graders/graderOf.ts';
import { jury } from '../../operators/metrics/graders/jury.ts';
import { type BenchmarkRow, benchmarkTable } from '../../operators/metrics/table.ts';
import { paperTools } from '../support/paperTools.ts';
import { scored } from '../support/scored.ts';

const fixture = (name: string) =>
  fileURLToPath(new URL(`../sources/fixtures/datasets/${name}`, import.meta.url));

/** The row of a file whose first question is answered so, and judged so. */
async function rowOf(
  file: string,
  given: {
    readonly grader: GraderName;
    readonly answer?: string;
    readonly reply?: string;
  },
): Promise<{ readonly row: BenchmarkRow; readonly asked: readonly string[] }> {
  const { items } = await planEvaluation([{ path: fixture(file) }], 1);
  const [item] = items;
  if (item === undefined || !('value' in item)) throw new Error(`${file} has no question`);
  const question = item.value;
  const { grader, reply, answer = question.answers[0]! } = given;
  const asked: string[] = [];
  const reward = judgedBenchmark(
    reply === undefined
      ? null
      : jury({
          seed: 1,
          judge: async ({ prompt }) => {
            asked.push(prompt);
            return reply;
          },
          grader: ({ source }) => graderOf(grader, source),
          sleep: async () => undefined,
        }),
  );
  const texts = [`<think>a</think><answer>\\boxed{${answer}}</answer>`];
  const rewards = await reward({ question, tools: paperTools, texts, lengths: [9] });
  const group = scored({ question, rewards: [...rewards], toolCalls: [0] });
  const { rows } = benchmarkTable([group], { seed: 1, grader });
  return { row: rows[0]!, asked };
}

const multiHop = ['hotpotqa.jsonl', '2wiki.jsonl', 'musique.jsonl', 'bamboogle.jsonl'];
const deepSearch = [
  'published/gaia.jsonl',
  'published/hle.jsonl',
  'published/webwalkerqa.jsonl',
  'published/DeepSearch-2505.csv',
  'published/simple_qa_test_set.csv',
];
const mathematics = [
  'aime24.jsonl',
  'aime25.jsonl',
  'published/aime2025.jsonl',
  'math500.jsonl',
  'published/math.jsonl',
  'gsm8k-test.jsonl',
  'amc23.jsonl',
];

describe('the papers’ table', () => {
  test.each([...multiHop, ...deepSearch, ...mathematics])(
    'takes the answer of %s as right',
    async (file) => {
      const { row, asked } = await rowOf(file, { grader: 'papers', reply: 'Incorrect' });
      expect(row).toMatchObject({ correctness: 1, grader: 'papers', judgeUnread: 0 });
      expect(asked).toEqual([]);
    },
  );

  test.each(multiHop)('counts %s by shared words, whatever a judge says', async (file) => {
    const given = { grader: 'papers', answer: 'zzz', reply: 'Correct' } as const;
    const { row } = await rowOf(file, given);
    expect(row).toMatchObject({ measure: 'f1', correctness: 0 });
  });

  test.each(deepSearch)('counts %s by its judge, and by shared words without one', async (file) => {
    const given = { grader: 'papers', answer: 'zzz' } as const;
    expect((await rowOf(file, given)).row).toMatchObject({ measure: 'f1', grader: null });
    const right = await rowOf(file, { ...given, reply: '<judgment>Correct</judgment>' });
    expect(right.row).toMatchObject({ measure: 'judge', correctness: 1, efficiency: 1 });
    const unread = await rowOf(file, { ...given, reply: 'Hm.' });
    expect(unread.row).toMatchObject({ measure: 'judge', correctness: 0, judgeUnread: 1 });
  });

  test.each(mathematics)('counts %s by its judge, and by equality without one', async (file) => {
    const given = { grader: 'papers', answer: 'zzz' } as const;
    expect((await rowOf(file, given)).row).toMatchObject({ measure: 'equality', correctness: 0 });
    const { row } = await rowOf(file, { ...given, reply: 'Correct' });
    expect(row).toMatchObject({ measure: 'judge', correctness: 1 });
  });
});

describe('DeepAgent’s table', () => {
  test.each(['published/gaia.jsonl', 'published/hle.jsonl'])(
    'takes one word for %s',
    async (file) => {
      const given = { grader: 'deep-agent', answer: 'zzz' } as const;
      const right = await rowOf(file, { ...given, reply: 'correct' });
      expect(right.row).toMatchObject({ measure: 'judge', correctness: 1, grader: 'deep-agent' });
      const more = await rowOf(file, { ...given, reply: 'It is correct' });
      expect(more.row).toMatchObject({ correctness: 0, judgeUnread: 1 });
    },
  );
});

describe('the authors’ graders', () => {
  test.each([
    ['published/hle.jsonl', 'hle', 'correct: yes\nconfidence: 20%', 'correct: no'],
    ['published/webwalkerqa.jsonl', 'webwalker', 'GRADE: CORRECT', 'GRADE: INCORRECT'],
    ['published/DeepSearch-2505.csv', 'xbench', '结论: 正确', '结论: 错误'],
    ['published/simple_qa_test_set.csv', 'simpleqa', 'A', 'C'],
    ['aime25.jsonl', 'papers', 'Correct', 'Incorrect'],
    ['hotpotqa.jsonl', 'papers', 'Correct', 'Incorrect'],
  ])('of %s are %s', async (file, name, yes, no) => {
    const given = { grader: 'authors', answer: 'zzz' } as const;
    const right = await rowOf(file, { ...given, reply: yes });
    expect(right.row.grader).toBe(name);
    expect(right.row.metrics.judged).toBe(1);
    const wrong = await rowOf(file, { ...given, reply: no });
    expect(wrong.row.metrics.judged).toBe(0);
    expect(wrong.row.judgeUnread).toBe(0);
    const unread = await rowOf(file, { ...given, reply: '?' });
    expect(unread.row).toMatchObject({ judgeUnread: 1, judgeFailures: 0 });
  });

  test('of GAIA ask no one', async () => {
    const file = 'published/gaia.jsonl';
    const given = { grader: 'authors', reply: 'Incorrect' } as const;
    const { row, asked } = await rowOf(file, { ...given, answer: '$7' });
    expect(row).toMatchObject({ grader: 'gaia', measure: 'judge', correctness: 1 });
    expect(asked).toEqual([]);
    expect((await rowOf(file, { ...given, answer: '8' })).row.correctness).toBe(0);
  });
});
