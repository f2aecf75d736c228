import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type DatasetOptions,
  datasetNames,
  datasetOf,
  findDataset,
  readDataset,
} from '../../sources/datasets.ts';
import type { QuestionRow } from '../../sources/questions.ts';
import type { DeadLetter } from '../../topics/index.ts';

const fixture = (name: string) =>
  fileURLToPath(new URL(`fixtures/datasets/${name}`, import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-datasets-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function written(name: string, ...rows: readonly unknown[]): Promise<string> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  const text = name.endsWith('.json') ? JSON.stringify(rows) : rows.map(line).join('');
  await writeFile(path, text);
  return path;
}
const line = (row: unknown): string => `${JSON.stringify(row)}\n`;

async function all(path: string, options?: DatasetOptions) {
  const values: QuestionRow[] = [];
  const dead: DeadLetter[] = [];
  for await (const item of readDataset(path, options)) {
    if ('value' in item) values.push(item.value);
    else dead.push(item.deadLetter);
  }
  return { values, dead };
}

/** The one question of a file with one row. */
async function only(name: string, row: unknown, options?: DatasetOptions): Promise<QuestionRow> {
  const { values, dead } = await all(await written(name, row), options);
  expect(dead).toEqual([]);
  expect(values).toHaveLength(1);
  return values[0]!;
}

describe('rows of public benchmarks', () => {
  it.each([
    ['gaia.jsonl', { task_id: 't', Question: 'Who?', Level: 1, 'Final answer': 'Ada' }],
    [
      'hle.jsonl',
      { id: 'h', question: 'Who?', answer: 'Ada', answer_type: 'exactMatch', image: '' },
    ],
    ['simpleqa.jsonl', { metadata: '{}', problem: 'Who?', answer: 'Ada' }],
    ['webwalkerqa.jsonl', { question: 'Who?', answer: 'Ada', root_url: 'https://a.test' }],
    ['xbench-deepsearch.jsonl', { id: 1, prompt: 'Who?', answer: 'Ada', reference_steps: '' }],
    ['bamboogle.jsonl', { Question: 'Who?', Answer: 'Ada' }],
    ['gpqa.jsonl', { Question: 'Who?', 'Correct Answer': 'Ada', 'Incorrect Answer 1': 'Bob' }],
    ['musique.jsonl', { id: '2hop__1', question: 'Who?', answer: 'Ada', answerable: true }],
    ['2wikimultihopqa.json', { _id: 'w', type: 'inference', question: 'Who?', answer: 'Ada' }],
    ['hotpotqa.json', { _id: 'h', question: 'Who?', answer: 'Ada', level: 'hard' }],
  ])('%s is read as its authors publish it', async (name, row) => {
    expect(await only(`published/${name}`, row)).toMatchObject({
      ...{ question: 'Who?', answers: ['Ada'], ability: 'qa' },
    });
  });

  it.each([
    ['aime25.jsonl', { id: '0', problem: 'How many?', answer: 70 }],
    ['aime24.jsonl', { id: 60, problem: 'How many?', solution: '70', answer: '70', url: '' }],
    ['gsm8k.jsonl', { question: 'How many?', answer: '7 * 10 = 70\n#### 70' }],
    ['math500.jsonl', { problem: 'How many?', solution: '$70$', answer: '70', level: 1 }],
    ['amc23.jsonl', { id: 0, question: 'How many?', answer: 70.0, url: '' }],
  ])('%s of mathematics too', async (name, row) => {
    expect(await only(`published/${name}`, row)).toMatchObject({
      ...{ question: 'How many?', answers: ['70'], ability: 'math' },
    });
  });

  it.each([
    ['2wiki.jsonl', 'qa', '2wiki-0'],
    ['hotpotqa.jsonl', 'qa', 'hotpotqa-0'],
    ['musique.jsonl', 'qa', 'musique-0'],
    ['bamboogle.jsonl', 'qa', 'bamboogle-0'],
    ['math500.jsonl', 'math', 'math500-0'],
    ['amc23.jsonl', 'math', 'amc23-0'],
    ['aime24.jsonl', 'math', 'aime24-60'],
    ['aime25.jsonl', 'math', 'aime25-0'],
  ] as const)('of %s become questions', async (name, ability, id) => {
    const { values, dead } = await all(fixture(name));
    expect(dead).toEqual([]);
    expect(values).toHaveLength(2);
    expect(values[0]).toMatchObject({ id, ability, source: name.replace('.jsonl', '') });
    for (const { question, answers } of values) {
      expect(question.length).toBeGreaterThan(20);
      expect(answers.every((answer) => answer !== '')).toBe(true);
    }
  });

  it.each([
    ['gaia.jsonl', 'gaia', 'qa', '7'],
    ['hle.jsonl', 'hle', 'qa', 'The Alexander polynomial'],
    ['webwalkerqa.jsonl', 'webwalker', 'qa', '14 March 2025'],
    ['simple_qa_test_set.csv', 'simpleqa', 'qa', 'Ada Vell'],
    ['aime2025.jsonl', 'aime2025', 'math', '70'],
    ['math.jsonl', 'math', 'math', '\\frac{3}{2}'],
  ] as const)('%s is read under the name that it has', async (name, source, ability, answer) => {
    const { values, dead } = await all(fixture(`published/${name}`));
    expect(dead).toEqual([]);
    expect(values[0]).toMatchObject({ source, ability, answers: [answer] });
  });

  it('of xbench are opened with the canary of their row, or were opened before', async () => {
    const { values, dead } = await all(fixture('published/DeepSearch-2505.csv'));
    expect(dead).toEqual([]);
    expect(values).toMatchObject([
      { id: 'xbench-1', question: '乔勒姆市的河流全长多少公里?', answers: ['42公里'] },
      { id: 'xbench-2', question: '已经解开的一行问题是什么?', answers: ['四'] },
    ]);
    const half = { id: 3, prompt: 'EAwGBAY=', answer: '四', canary: 'xbench' };
    const damaged = await all(await written('published/xbench-half.jsonl', half));
    expect(damaged.dead).toMatchObject([{ field: 'answer', reason: 'is missing' }]);
  });

  it('may be without answers where something else says what a rollout is worth', async () => {
    const path = await written('own.jsonl', { question: 'Write a haiku.' });
    expect((await all(path)).dead).toMatchObject([{ field: 'answers', reason: 'is missing' }]);
    const { values, dead } = await all(path, { unanswered: true });
    expect(dead).toEqual([]);
    expect(values).toMatchObject([{ question: 'Write a haiku.', answers: [], ability: 'qa' }]);
    await expect(all(await written('bare.csv', 'x'), { unanswered: true })).rejects.toThrow(
      /needs question;/,
    );
  });

  it('keep every alias of an answer, and LaTeX as it is', async () => {
    const [born] = (await all(fixture('2wiki.jsonl'))).values;
    expect(born!.answers).toHaveLength(8);
    const [polar] = (await all(fixture('math500.jsonl'))).values;
    expect(polar!.answers).toEqual(['\\left( 3, \\frac{\\pi}{2} \\right)']);
  });

  it('are read from AIME with answers as text, even if they are numbers', async () => {
    expect((await all(fixture('aime24.jsonl'))).values.map(({ answers }) => answers)).toEqual([
      ['540'],
      ['321'],
    ]);
    expect((await all(fixture('aime25.jsonl'))).values.map(({ answers }) => answers)).toEqual([
      ['540'],
      ['321'],
    ]);
  });

  it('of GSM8K give the number after the hashes, without commas', async () => {
    const { values, dead } = await all(fixture('gsm8k-test.jsonl'));
    expect(values.map(({ answers }) => answers)).toEqual([['3'], ['1234']]);
    expect(dead).toEqual([
      expect.objectContaining({
        origin: fixture('gsm8k-test.jsonl'),
        place: 3,
        key: 'gsm8k-2',
        field: 'answer',
        reason: 'has no #### before the number',
      }),
    ]);
  });

  it('of MMLU-Pro come from Parquet with their options', async () => {
    const { values, dead } = await all(fixture('mmlu-pro.parquet'));
    expect(values[0]).toEqual({
      id: 'mmlu_pro-70',
      source: 'mmlu_pro',
      question: 'Which planet is the largest?\n\nA. Mars\nB. Jupiter\nC. Venus\nD. Saturn',
      answers: ['B'],
      ability: 'qa',
    });
    expect(dead.map(({ place, field }) => [place, field])).toEqual([[3, 'answer']]);
    expect(
      await only('mmlu-pro.jsonl', { question: 'Q?', options: ['x', 'y'], answer: 'A' }),
    ).toMatchObject({ question: 'Q?\n\nA. x\nB. y', answers: ['A'] });
  });

  const bench = { ID: 7, Format: 'Multiple-choice', Question: 'Which?', Answer: 'D' };
  it.each([
    [
      'csbench',
      { ...bench, A: 'a', B: 'b', C: 'c', D: 'd' },
      'Which?\n\nA. a\nB. b\nC. c\nD. d',
      ['D'],
    ],
    ['csbench', { ...bench, A: 'a', B: '', C: null, D: 'd' }, 'Which?\n\nA. a\nD. d', ['D']],
    [
      'csbench',
      { ID: 1, Format: 'Assertion', Question: 'So?', A: '', Answer: true },
      'So?',
      ['True'],
    ],
    [
      'csbench',
      { ID: 1, Format: 'Open-ended', Question: 'Why?', Answer: 'It is.' },
      'Why?',
      ['It is.'],
    ],
    ['gaia', { id: 'g', Question: 'Who?', answer: 'Ada', Level: 1 }, 'Who?', ['Ada']],
    ['gpqa', { question: 'Which? A) x B) y', answer: ['B', 'y'] }, 'Which? A) x B) y', ['B', 'y']],
    ['simpleqa', { question: 'Who?', answer: ['Ada'] }, 'Who?', ['Ada']],
    ['webwalker', { question: '谁？', answer: '艾达' }, '谁？', ['艾达']],
    ['xbench', { question: '谁？', answer: ['艾达'] }, '谁？', ['艾达']],
    ['hle', { question: 'Who?', answer: 'Ada' }, 'Who?', ['Ada']],
    ['math', { problem: 'P?', answer: '\\frac12' }, 'P?', ['\\frac12']],
    ['olympiadbench', { id: 3, question: 'P?', final_answer: ['$2$', '$3$'] }, 'P?', ['$2$']],
    [
      'minerva_math',
      { problem: 'P?', solution: 'So \\boxed{\\frac{1}{2}}.' },
      'P?',
      ['\\frac{1}{2}'],
    ],
    ['minerva_math', { problem: 'P?', solution: 'It is 4' }, 'P?', ['It is 4']],
    ['svamp', { Body: 'Two cats.', Question: 'Legs?', Answer: 8 }, 'Two cats. Legs?', ['8']],
    [
      'asdiv',
      { body: 'Two cats.', question: 'Legs?', answer: '8 (legs)' },
      'Two cats. Legs?',
      ['8'],
    ],
    ['mawps', { input: 'P?', target: 8 }, 'P?', ['8']],
    ['carp_en', { content: 'P?', answer: 'x=1' }, 'P?', ['x=1']],
    ['tabmwp', { question: 'P?', answer: '1/2' }, 'P?', ['1/2']],
    ['gaokao2023en', { question: 'P?', answer: 'A' }, 'P?', ['A']],
    ['college_math', { problem: 'P?', answer: '[0, 1)' }, 'P?', ['[0, 1)']],
  ])('of %s are read: %j', async (name, row, question, answers) => {
    expect(await only(`${name}/test.jsonl`, row)).toMatchObject({
      question,
      answers,
      source: name,
    });
  });

  it('split a list written as text only for questions of knowledge', async () => {
    const asked = { question: 'Who?' };
    const listed = async (answer: string) =>
      (await only('hle.jsonl', { ...asked, answer })).answers;
    expect(await listed('["Ada", "Lovelace"]')).toEqual(['Ada', 'Lovelace']);
    expect(await listed("['Ada', 'Lovelace']")).toEqual(['Ada', 'Lovelace']);
    const interval = await only('math500.jsonl', { ...asked, answer: '[0, 1]' });
    expect(interval.answers).toEqual(['[0, 1]']);
  });

  it('are numbered if they have no id, and refused if they repeat one', async () => {
    const row = { question: 'Who?', answer: 'Ada' };
    const { values, dead } = await all(
      await written('hle/dev.jsonl', row, { ...row, id: 'x' }, { ...row, id: 'x' }),
    );
    expect(values.map(({ id }) => id)).toEqual(['hle-0', 'hle-x']);
    expect(dead).toMatchObject([{ place: 3, field: 'id', reason: 'is already used in line 2' }]);
  });

  it.each([
    [{ answer: 'a' }, 'question', 'is missing'],
    [{ question: ' ', answer: 'a' }, 'question', 'is empty'],
    [{ question: ['q'], answer: 'a' }, 'question', 'must be a string, not a list'],
    [{ question: 'q' }, 'answer', 'is missing'],
    [{ question: 'q', answer: [] }, 'answer', 'has no answer'],
    [{ question: 'q', answer: ['a', ''] }, 'answer', 'is empty'],
    [{ question: 'q', answer: { a: 1 } }, 'answer', 'must be a string, not an object'],
  ])('that are bad are refused by field: %j', async (row, field, reason) => {
    const { values, dead } = await all(await written('2wiki/test.jsonl', row));
    expect(values).toEqual([]);
    expect(dead).toMatchObject([{ place: 1, field, reason, key: '2wiki-0' }]);
  });

  it('with options that are not a list are refused', async () => {
    const { dead } = await all(
      await written('mmlu-pro/test.jsonl', { question: 'q', answer: 'A', options: 'x' }),
    );
    expect(dead).toMatchObject([{ field: 'options', reason: 'must be a list of strings' }]);
  });
});

describe('a file of questions', () => {
  it('in the format of this package is read as such, whatever its name', async () => {
    const { values } = await all(fixture('own-2wiki.jsonl'));
    expect(values.map(({ id }) => id)).toEqual(['2wiki-0', '2wiki-1']);
    expect(await all(fixture('own-2wiki.jsonl'), { name: 'gsm8k' })).toMatchObject({ values });
    const row = { id: 'a', source: 's', question: 'q', answers: ['x'], ability: 'qa' };
    expect(await only('math/test.jsonl', row)).toEqual(row);
  });

  it('of the RL schema is read as such', async () => {
    const rl = fileURLToPath(new URL('fixtures/rl.parquet', import.meta.url));
    expect((await all(rl)).values[0]).toMatchObject({ id: 'qa_effi_rl-0', source: 'qa_effi_rl' });
  });

  it('may be one JSON array', async () => {
    const path = await written('amc23/test.json', { question: 'P?', answer: '4' }, 'no object');
    const { values, dead } = await all(path);
    expect(values).toMatchObject([{ id: 'amc23-0', answers: ['4'] }]);
    expect(dead).toMatchObject([{ place: 2, reason: 'an element must be a JSON object' }]);
    await writeFile(path, '{"question": "P?"}');
    await expect(all(path)).rejects.toThrow(/must be one array of objects/);
    await writeFile(path, '[{');
    await expect(all(path)).rejects.toThrow(/is not JSON: .* rename it to end in \.jsonl/);
  });

  it('takes an interval in a CSV cell of mathematics as one answer, and a list of texts as several', async () => {
    const path = join(folder, 'math500.csv');
    const cells = ['[-2,7]', '[0, 1)', '[1,2,3]', '["-2","7"]', '["a"; 3]', '[ ]'];
    const quoted = cells.map((cell, i) => `P${i}?,"${cell.replaceAll('"', '""')}"`);
    await writeFile(path, `problem,answer\n${quoted.join('\n')}\n`);
    const { values } = await all(path);
    expect(values.map(({ answers }) => answers)).toEqual([
      ['[-2,7]'],
      ['[0, 1)'],
      ['[1,2,3]'],
      ['-2', '7'],
      ['["a"; 3]'],
      ['[ ]'],
    ]);
  });

  it('may be CSV', async () => {
    const path = join(folder, 'hotpotqa.csv');
    await writeFile(path, 'question,answer\n"Who, then?",Ada\nWho?,"[""Ada"", ""Lovelace""]"\n');
    const { values } = await all(path);
    expect(values.map(({ answers }) => answers)).toEqual([['Ada'], ['Ada', 'Lovelace']]);
    await writeFile(path, 'text,answer\nWho?,Ada\n');
    await expect(all(path)).rejects.toThrow(/no column question; its columns are text, answer/);
  });

  it('takes the dataset name that it is given', async () => {
    const row = { problem: 'P?', answer: 4 };
    expect(await only('mine.jsonl', row, { name: 'aime26' })).toMatchObject({ id: 'aime26-0' });
    expect(() => readDataset('mine.jsonl', { name: 'nosuch' })).toThrow(
      /unknown dataset nosuch; known ones are .*2wiki.*\. Any other file needs the fields/,
    );
  });

  it('of an unknown dataset needs question and answer, and gets the rest', async () => {
    const rows = [
      { question: 'Q?', answer: 'a' },
      { question: 'Half of 2,469?', answers: ['1234.5', '2469/2'] },
      { question: 'Which fraction?', answer: '\\frac{1}{2}' },
      { question: 'Mine?', answer: '4', id: 'mine', ability: 'qa' },
      { question: 'No answer?' },
    ];
    const { values, dead } = await all(await written('other.jsonl', ...rows));
    expect(values.map(({ id, source, ability }) => [id, source, ability])).toEqual([
      ['other-0', 'other', 'qa'],
      ['other-1', 'other', 'math'],
      ['other-2', 'other', 'math'],
      ['mine', 'other', 'qa'],
    ]);
    expect(dead).toMatchObject([{ field: 'answers', reason: 'is missing', key: 'other-4' }]);
  });

  it('of an unknown dataset is refused with the columns it lacks', async () => {
    const path = join(folder, 'mine.csv');
    await writeFile(path, 'frage,antwort\nx,y\n');
    await expect(all(path)).rejects.toThrow(
      /mine\.csv: its columns are frage, antwort, but a questions file needs question and answer/,
    );
  });
});

describe('the name of a dataset', () => {
  it.each([
    ['data/2wiki/test.jsonl', '2wiki'],
    ['2WikiMultihopQA_dev.jsonl', '2wiki'],
    ['MATH-500.jsonl', 'math500'],
    ['math/test-00000-of-00001.parquet', 'math'],
    ['minerva-math.jsonl', 'minerva_math'],
    ['hotpot_qa_500.json', 'hotpotqa'],
    ['gpqa_diamond.jsonl', 'gpqa'],
    ['AIME_2024.jsonl', 'aime2024'],
    ['x/my-aime25-copy.jsonl', 'aime25'],
    ['runs/quickstart-1/heldout.csv', null],
    ['aftermath.jsonl', null],
  ])('%s says which benchmark it is', (path, name) => {
    expect(datasetOf(path)?.name ?? null).toBe(name);
  });

  it('is known for every format', () => {
    for (const name of datasetNames) expect(datasetOf(`${name}.jsonl`)?.name).toBe(name);
  });
});

describe('findDataset', () => {
  it('finds a file, the file of a folder, and a name in the data folder', async () => {
    const row = { question: 'Who?', answer: 'Ada' };
    const data = join(folder, 'found');
    await written('found/hle/test.jsonl', row);
    await written('found/hle/train.jsonl', row);
    await written('found/gpqa.jsonl', row);
    const test = join(data, 'hle', 'test.jsonl');
    expect(await findDataset(test, 'none')).toBe(test);
    expect(await findDataset(join(data, 'hle'), 'none')).toBe(test);
    expect(await findDataset('hle', data)).toBe(test);
    expect(await findDataset('gpqa', data)).toBe(join(data, 'gpqa.jsonl'));
    await expect(findDataset('nosuch', data)).rejects.toThrow(
      /no questions at nosuch, and no dataset of that name/,
    );
  });
});
