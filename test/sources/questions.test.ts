import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type QuestionItem, type QuestionRow, readQuestions } from '../../sources/questions.ts';
import type { DeadLetter } from '../../topics/index.ts';

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-sources-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function written(name: string, content: string | Buffer): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

async function all(path: string): Promise<{ values: QuestionRow[]; dead: DeadLetter[] }> {
  const items: QuestionItem[] = [];
  for await (const item of readQuestions(path)) items.push(item);
  const values = items.flatMap((item) => ('value' in item ? [item.value] : []));
  const dead = items.flatMap((item) => ('deadLetter' in item ? [item.deadLetter] : []));
  return { values, dead };
}

const places = (dead: DeadLetter[]) => dead.map(({ place, field }) => [place, field]);
const row = (id: string, rest = '') =>
  JSON.stringify({ id, source: 's', question: `q ${id}?${rest}`, answers: ['x'], ability: 'qa' });

describe('JSONL', () => {
  it('lets good rows flow and names line and field of the bad ones', async () => {
    const { values, dead } = await all(fixture('mixed.jsonl'));
    expect(values.map(({ id }) => id)).toEqual(['a-0', 'a-1', 'a-9']);
    expect(values[1]).toEqual({
      id: 'a-1',
      source: 'made',
      question: 'What is 6 times 7?',
      answers: ['42'],
      ability: 'math',
    });
    expect(places(dead)).toEqual([
      [4, ''],
      [5, 'question'],
      [6, 'id'],
      [7, 'question'],
      [8, 'id'],
      [9, 'answers'],
      [10, 'answers'],
      [11, 'ability'],
      [12, ''],
    ]);
    expect(dead[0]).toMatchObject({
      origin: fixture('mixed.jsonl'),
      reason: expect.stringMatching(/^invalid JSON/),
      payload: expect.stringContaining('Cut off'),
    });
    expect(dead[4]).toMatchObject({ key: 'a-0', reason: 'is already used in line 1' });
  });

  it('does not split a line at U+2028, which may be in a JSON string', async () => {
    const { values, dead } = await all(await written('u2028.jsonl', `${row('a', '\u2028b')}\n`));
    expect(dead).toEqual([]);
    expect(values[0]?.question).toBe('q a?\u2028b');
  });

  it('reads over chunk borders, CRLF ends, a byte order mark and a last line without an end', async () => {
    const long = 'ü'.repeat(50_000);
    const text = `\ufeff${row('a', long)}\r\n${row('b', long)}\n\n${row('c')}`;
    const { values, dead } = await all(await written('chunks.jsonl', text));
    expect(dead).toEqual([]);
    expect(values.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(values[1]?.question).toBe(`q b?${long}`);
  });

  it('skips a line that is too long or not UTF-8', async () => {
    const bytes = Buffer.concat([
      Buffer.from(`${row('a')}\n`),
      Buffer.alloc(9 * 1024 * 1024, 'x'),
      Buffer.from('\n"\xe9"\n', 'latin1'),
      Buffer.from(row('b')),
    ]);
    const { values, dead } = await all(await written('long.jsonl', bytes));
    expect(values.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(dead.map(({ place, reason }) => [place, reason])).toEqual([
      [2, 'the line is longer than 8388608 bytes'],
      [3, 'the line is not UTF-8; save the file as UTF-8'],
    ]);
  });

  it('keeps only the beginning of a long bad row', async () => {
    const { dead } = await all(await written('payload.jsonl', `{"id": "${'x'.repeat(5000)}`));
    expect(dead[0]?.payload).toHaveLength(2000);
  });

  it.each([
    ['empty.jsonl', ''],
    ['blank.csv', '\n\n'],
    ['header.csv', 'id,source,question,answers,ability\n'],
  ])('refuses a file without a row: %s', async (name, text) => {
    await expect(all(await written(name, text))).rejects.toThrow(
      new RegExp(`the questions file .*${name} has no rows`),
    );
  });
});

describe('CSV', () => {
  it('reads lists as JSON or between bars, quoted line ends, and names the first line of a bad row', async () => {
    const { values, dead } = await all(fixture('mixed.csv'));
    expect(values.map(({ id, question, answers }) => [id, question, answers])).toEqual([
      ['c-0', 'Who, exactly?', ['George Eliot', 'Mary Ann Evans']],
      ['c-1', 'Two\nlines?', ['4', 'four']],
      ['c-5', 'After "it", fine?', ['6']],
      ['c-9', 'Last?', ['nine']],
    ]);
    expect(places(dead)).toEqual([
      [5, 'answers'],
      [6, ''],
      [8, ''],
      [10, ''],
      [11, 'answers'],
      [12, 'answers'],
    ]);
  });

  it('takes a single answer as it is, brackets and bars included', async () => {
    const { values } = await all(fixture('answer.csv'));
    expect(values.map(({ answers }) => answers)).toEqual([['[0, 5)'], ['|x|']]);
  });

  it('loses only one row to a quote that never closes', async () => {
    const good = Array.from({ length: 1200 }, (_, index) => `g-${index},s,Q ${index}?,x,qa`);
    const lines = ['id,source,question,answers,ability', 'bad,s,"Open?,x,qa', ...good];
    const { values, dead } = await all(await written('quote.csv', lines.join('\n')));
    expect(values).toHaveLength(1200);
    expect(places(dead)).toEqual([[2, '']]);
  });

  it('names the lines of bad rows among many good ones, and keeps empty lines inside a quote', async () => {
    const good = Array.from({ length: 900 }, (_, index) => `g-${index},s,Q ${index}?,x,qa`);
    good[300] = 'bad,s,"Text"after,x,qa';
    good[301] = 'long,s,"Two\n\nparagraphs?",x,qa\n';
    good[600] = 'bad,s,"Open?,x,qa';
    const lines = ['id,source,question,answers,ability', ...good];
    const { values, dead } = await all(await written('among.csv', lines.join('\n')));
    expect(values).toHaveLength(898);
    expect(values[300]).toMatchObject({ id: 'long', question: 'Two\n\nparagraphs?' });
    expect(places(dead)).toEqual([
      [302, ''],
      [605, ''],
    ]);
  });

  it('says which columns are missing', async () => {
    await expect(all(fixture('columns.csv'))).rejects.toThrow(
      /no column source, ability; its columns are id, question, answers\. A questions file needs/,
    );
  });
});

describe('Parquet', () => {
  it('reads the RL schema over several row groups and names the row and its field', async () => {
    const { values, dead } = await all(fixture('rl.parquet'));
    expect(values.map(({ id }) => id)).toEqual(['qa_effi_rl-0', 'math_effi_rl-1', 'qa_effi_rl-6']);
    expect(values[0]).toEqual({
      id: 'qa_effi_rl-0',
      source: 'qa_effi_rl',
      question: 'Who wrote Middlemarch?',
      answers: ['George Eliot', 'Mary Ann Evans'],
      ability: 'qa',
    });
    expect(places(dead)).toEqual([
      [3, 'reward_model.ground_truth'],
      [4, 'ability'],
      [5, 'extra_info.index'],
      [6, 'id'],
    ]);
    expect(JSON.parse(dead[1]!.payload)).toMatchObject({ ability: 'geography' });
  });

  it('reads plain columns, gzip compressed', async () => {
    const { values, dead } = await all(fixture('plain.parquet'));
    expect(values.map(({ id, answers }) => [id, answers])).toEqual([['p-0', ['4']]]);
    expect(places(dead)).toEqual([[2, 'question']]);
  });

  it('says which columns are missing', async () => {
    await expect(all(fixture('columns.parquet'))).rejects.toThrow(/no column source, answers/);
  });

  it('says that a broken file is broken', async () => {
    const path = await written('broken.parquet', 'PAR1 this is not one');
    await expect(all(path)).rejects.toThrow(/cannot read .* as Parquet: .*Check that the file/);
  });
});

describe('a file of questions', () => {
  it.each([
    ['missing.jsonl', /does not exist \(looked for .*missing\.jsonl\)/],
    [
      'notes.txt',
      /ends in \.txt; give a file that ends in \.csv, \.jsonl, \.jsonl\.gz, \.ndjson, \.json, \.parquet/,
    ],
    ['notes', /has no extension/],
  ])('is refused with advice: %s', async (name, message) => {
    await expect(all(join(folder, name))).rejects.toThrow(message);
  });

  it.each(['kafka://b:9092/q', 'follow:q.jsonl', 'listen:80'])(
    'is not an endless source: %s',
    async (address) => {
      await expect(all(address)).rejects.toThrow(
        /this must be a file that ends in.*of the ready jobs/,
      );
    },
  );
});
