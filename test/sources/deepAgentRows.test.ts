/** DeepAgent's benchmarks in the forms of its release: what is asked, what is gold, what is wrong with a row. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { findDataset, readDataset } from '../../sources/datasets.ts';
import type { QuestionRow } from '../../sources/questions.ts';
import type { DeadLetter } from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

function written(name: string, text: string): string {
  const path = join(folder.path, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

async function read(path: string, images?: string | null) {
  const values: QuestionRow[] = [];
  const dead: DeadLetter[] = [];
  for await (const item of readDataset(path, { images })) {
    if ('value' in item) values.push(item.value);
    else dead.push(item.deadLetter);
  }
  return { values, dead };
}

async function only(name: string, row: object): Promise<QuestionRow> {
  const { values, dead } = await read(written(name, JSON.stringify([row])));
  expect(dead).toEqual([]);
  return values[0]!;
}

const turns = [
  { role: 'User', text: 'Log me in.' },
  { role: 'AI', text: 'As whom?' },
  { role: 'User', text: 'As ada.' },
  {
    role: 'API',
    api_name: 'GetUserToken',
    param_dict: { username: 'ada', password: 'x' },
    result: { output: { token: 't' }, exception: null },
  },
  { role: 'AI', text: 'Your token is t.' },
];

describe('a benchmark of DeepAgent', () => {
  test('ToolBench brings its functions, and the relevant ones are gold by their functions’ names', async () => {
    const row = await only('ToolBench/test_instruction/G3_instruction.json', {
      query: 'What is on?',
      query_id: 81,
      api_list: [
        {
          category_name: 'Movies',
          tool_name: 'TV & Movies',
          api_name: '123 go',
          api_description: 'Finds.',
          required_parameters: [{ name: 'id', type: 'NUMBER', description: 'Which', default: '7' }],
          optional_parameters: [],
          method: 'GET',
        },
      ],
      'relevant APIs': [['TV & Movies', '123 go']],
    });
    expect(row).toMatchObject({
      ...{ id: 'toolbench-81', source: 'toolbench', question: 'What is on?', answers: [] },
      task: { gold: { kind: 'tools', items: ['get_123_go_for_tv_movies'] } },
    });
    expect(row.task!.functions.map((text) => JSON.parse(text))).toEqual([
      {
        name: 'get_123_go_for_tv_movies',
        description: 'Finds.',
        parameters: {
          type: 'object',
          properties: { is_id: { type: 'integer', description: 'Which', example_value: '7' } },
          required: ['is_id'],
          optional: [],
        },
      },
    ]);
  });

  test('RestBench has its endpoints as gold, trimmed', async () => {
    const row = await only('RestBench/datasets/tmdb.json', {
      query: 'Which film?',
      solution: [' GET /movie/popular', 'GET /movie/{movie_id}/keywords '],
    });
    expect(row.task!.gold).toEqual({
      kind: 'endpoints',
      items: ['GET /movie/popular', 'GET /movie/{movie_id}/keywords'],
    });
    expect(row.id).toBe('tmdb-0');
    expect((await only('spotify.json', { query: 'A?', solution: ['GET /me'] })).source).toBe(
      'spotify',
    );
  });

  test('ToolHop has an answer, sub-answers as gold, and functions with their program', async () => {
    const row = await only('ToolHop.json', {
      id: 4,
      question: 'How long?',
      answer: 12,
      sub_task: { 'who?': ' Ada ', 'how long?': 12, 'so?': true },
      tools: {
        'who?': {
          name: 'who',
          description: 'Who.',
          parameters: { type: 'object', properties: {}, required: [] },
        },
      },
      functions: ['def who():\n    return "Ada"'],
    });
    expect(row).toMatchObject({
      ...{ id: 'toolhop-4', answers: ['12'] },
      task: {
        gold: { kind: 'answers', items: ['Ada', '12', 'True'] },
        program: 'def who():\n    return "Ada"',
      },
    });
    expect(JSON.parse(row.task!.functions[0]!)).toMatchObject({ name: 'who' });
  });

  test('API-Bank level 1 is a folder of conversations, asked up to the last turn of the user', async () => {
    const lines = turns.map((turn) => JSON.stringify(turn)).join('\n');
    const at = 'API-Bank/lv1-lv2-samples/level-1-given-desc-e2e';
    written(`${at}/B-level-1.jsonl`, lines);
    written(`${at}/A-level-1.jsonl`, '{"role":"AI"}\n');
    const path = await findDataset(join(folder.path, at), 'data');
    const { values, dead } = await read(path);
    expect(values).toEqual([
      {
        id: 'api_bank-B-level-1.jsonl',
        source: 'api_bank',
        ability: 'qa',
        question: 'User: Log me in.\nAI: As whom?\nUser: As ada.',
        answers: ['Your token is t.'],
        task: {
          gold: {
            kind: 'calls',
            items: ['{"name":"GetUserToken","arguments":{"username":"ada","password":"x"}}'],
          },
          functions: ['GetUserToken'],
          ...{ program: '', files: [], world: '' },
        },
      },
    ]);
    expect(dead).toEqual([
      expect.objectContaining({
        place: 1,
        field: 'chat_history',
        reason: 'has no turn of the User',
      }),
    ]);
  });

  test('API-Bank level 3 leaves the calls that look for tools out', async () => {
    const row = await only('API-Bank/test-data/level-3.json', {
      requirement: 'Tell me the tax.',
      response: 'It is 7.',
      apis: [
        { api_name: 'ToolSearcher', input: { keywords: 'tax' }, output: {} },
        { api_name: 'TaxCalculator', input: { salary: 10 }, output: 7 },
      ],
    });
    expect(row.task!.gold!.items).toEqual(['{"name":"TaxCalculator","arguments":{"salary":10}}']);
    expect(row).toMatchObject({ question: 'Tell me the tax.', answers: ['It is 7.'] });
  });

  test('ALFWorld has its subgoals as patterns, and WebShop a session, in an environment', async () => {
    const cool = await only('ALFWorld/test.json', {
      goal: 'cool some pan and put it in stoveburner.',
      subgoals: 'Goal\nSubgoal 1: You pick up the pan \\d+\nSubgoal 2: You cool the pan',
    });
    expect(cool.task).toMatchObject({
      gold: { kind: 'patterns', items: ['You pick up the pan \\d+', 'You cool the pan'] },
    });
    expect(JSON.parse(cool.task!.world)).toEqual({
      reset: { index: 0 },
      shows: 'cool some pan and put it in stoveburner.',
    });
    const shop = await only('WebShop/test.json', { id: 0, session_id: 'fixed_0' });
    expect(shop).toMatchObject({ id: 'webshop-0', answers: [], task: { gold: null } });
    expect(JSON.parse(shop.task!.world)).toEqual({ reset: { index: 0, session: 'fixed_0' } });
  });

  test('GAIA names its attachment and HLE its image, below the question', async () => {
    const gaia = { task_id: 'a', Question: 'How many?', answer: '3', file_name: 'a.xlsx' };
    expect(await only('GAIA/all.json', gaia)).toMatchObject({
      ...{ id: 'gaia-a', question: 'How many?\n\nAttached file: a.xlsx' },
      task: { files: ['a.xlsx'] },
    });
    expect(await only('gaia.json', { ...gaia, file_name: '' })).not.toHaveProperty('task');
    expect(
      await only('HLE/all_500.json', { id: 'b', question: 'What?', answer: 'x', image: 'b.png' }),
    ).toMatchObject({ question: 'What?\n\nAttached image: b.png', task: { files: ['b.png'] } });
  });

  test.each([
    ['toolbench.json', { query: 'A?' }, 'relevant APIs', 'is missing'],
    ['toolbench.json', { query: ' ', 'relevant APIs': [['a', 'b']] }, 'query', 'is empty'],
    ['tmdb.json', { query: 'A?', solution: [] }, 'solution', /expected array to have >=1/],
    [
      'toolhop.json',
      { question: 'A?', answer: 'x', sub_task: [], tools: {} },
      'sub_task',
      /record/,
    ],
    ['level-3.json', { requirement: 'A', apis: [{ api_name: 'ToolSearcher' }] }, 'apis', /nothing/],
    ['alfworld.json', { goal: 'g', subgoals: 'Subgoal 1: (' }, 'subgoals', /regular expression/],
    [
      'gaia.json',
      { Question: 'A?', answer: 'x', file_name: '../x' },
      'file_name',
      /without a folder/,
    ],
    ['hle.json', { question: 'A?', answer: 'x', image: 'data:a' }, 'image', /data URI/],
  ])('names the field of a bad row of %s: %j', async (name, row, field, reason) => {
    const { values, dead } = await read(written(name, JSON.stringify([row])));
    expect(values).toEqual([]);
    expect(dead).toEqual([
      expect.objectContaining({
        field,
        reason: typeof reason === 'string' ? reason : expect.stringMatching(reason),
      }),
    ]);
  });
});

describe('a question of one’s own with a task', () => {
  const row = { id: 'q', source: 's', ability: 'qa', question: 'Add.' };
  const lines = (...rows: readonly object[]): string =>
    written('mine.jsonl', rows.map((one) => JSON.stringify(one)).join('\n'));

  test('needs no answer if calls or an environment say how well it went', async () => {
    const gold = { kind: 'calls', items: [{ name: 'add', arguments: { a: 1 } }] };
    const { values, dead } = await read(
      lines(
        { ...row, task: { gold } },
        { ...row, id: 'w', task: { world: { seed: 1 } } },
        { ...row, id: 'f', task: { files: ['a'] } },
      ),
    );
    expect(values.map(({ answers, task }) => [answers, task])).toEqual([
      [
        [],
        {
          gold: { kind: 'calls', items: ['{"name":"add","arguments":{"a":1}}'] },
          ...{ functions: [], program: '', files: [], world: '' },
        },
      ],
      [[], { gold: null, functions: [], program: '', files: [], world: '{"seed":1}' }],
    ]);
    expect(dead.map(({ key, field }) => [key, field])).toEqual([['f', 'answers']]);
  });

  test.each([
    [{ gold: { kind: 'calls', items: [{ name: 'add' }] } }, 'task.gold.items.0', /must be a call/],
    [{ gold: { kind: 'maybe', items: ['a'] } }, 'task.gold.kind', /tools/],
    [{ golden: 1 }, 'task', /golden/],
    [{ files: ['..'] }, 'task.files.0', /name of a file/],
  ])('is a dead letter if the task is %j', async (task, field, reason) => {
    const { dead } = await read(lines({ ...row, answers: ['x'], task }));
    expect(dead).toEqual([
      expect.objectContaining({ field, reason: expect.stringMatching(reason) }),
    ]);
  });
});

describe('an image in a row of HLE', () => {
  const png = Buffer.from('\x89PNG\r\n\x1a\n and more', 'latin1');
  const uri = `data:image/png;base64,${png.toString('base64')}`;
  const row = { id: 'a', question: 'What is shown?', answer: 'x', image: uri };
  const file = (image: string) => written('hle.json', JSON.stringify([{ ...row, image }]));

  test('is written to the folder of files once, and the question names it', async () => {
    const images = join(folder.path, 'images');
    mkdirSync(images);
    const { values } = await read(file(uri), images);
    const [name] = readdirSync(images);
    expect(name).toMatch(/^[0-9a-f]{32}\.png$/);
    expect(values).toEqual([
      expect.objectContaining({
        question: `What is shown?\n\nAttached image: ${name}`,
        task: expect.objectContaining({ files: [name] }),
      }),
    ]);
    const path = join(images, name!);
    expect(readFileSync(path).equals(png)).toBe(true);
    const before = statSync(path).ino;
    expect((await read(file(uri), images)).values).toEqual(values);
    expect(readdirSync(images)).toEqual([name]);
    expect(statSync(path).ino).toBe(before);
  });

  test('has the same name where it is not written, as on a replay', async () => {
    const images = join(folder.path, 'again');
    mkdirSync(images);
    const { values } = await read(file(uri), images);
    expect((await read(file(uri), null)).values).toEqual(values);
  });

  test.each([
    [uri, undefined, /name a folder to write it to/],
    ['data:image/svg+xml;base64,PHN2Zz4=', '', /not of a PNG, JPEG/],
    ['data:image/png;base64,no&base64', '', /not of a PNG, JPEG/],
    ['data:image/png;base64,', '', /not of a PNG, JPEG/],
    [`data:image/png;base64,${' '.repeat(300_000)}!`, '', /not of a PNG, JPEG/],
  ])('is a dead letter as %.60s in the folder %j', async (image, images, reason) => {
    const { values, dead } = await read(file(image), images);
    expect(values).toEqual([]);
    expect(dead).toEqual([
      expect.objectContaining({ field: 'image', reason: expect.stringMatching(reason) }),
    ]);
  });
});
