/**
 * The recipes of docs/extending, followed to the letter: each page's files are written into a copy of the
 * sources, its lines are added where the page says, and what it adds is used, by its name.
 */
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ROOT, runOf, sets } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';

const PAGES = join(ROOT, 'docs', 'extending');
const POLICY = join(ROOT, 'examples', 'quickstart', 'base');
/** What a copy needs to compile and to run. */
const COPIED = [
  ...[
    'api',
    'base',
    'cli',
    'gateway',
    'jinja',
    'jobs',
    'model',
    'operators',
    'page',
    'simulate',
    'sinks',
    'sources',
  ],
  ...['streams', 'summary', 'testing', 'topics', 'package.json', 'tsconfig.json'],
  ...['scripts/page', 'test/cli/fixtures', 'test/support', 'test/docs/recipes'],
];

interface Recipe {
  readonly text: string;
  readonly files: readonly (readonly [file: string, code: string])[];
  readonly lines: readonly (readonly [table: string, line: string])[];
}

function recipe(name: string): Recipe {
  const text = readFileSync(join(PAGES, `${name}.md`), 'utf8');
  const found = (pattern: RegExp): [string, string][] =>
    [...text.matchAll(pattern)].map(([, path, code]) => [path!, code!]);
  return {
    text,
    files: found(/One file[^`\n]*, `([^`]+)`:\n\n```tsx?\n([\s\S]*?)```/g),
    lines: found(/One line[^`\n]*, in `([^`]+)`:\n\n```ts\n(.*)\n```/g),
  };
}

/** At the end of the file, or of the table that the line is an entry of. */
function withLine(table: string, line: string): string {
  return line.endsWith(',') ? table.replace('\n} as const', `\n${line}$&`) : `${table}${line}\n`;
}

const names = readdirSync(PAGES)
  .filter((file) => file !== 'README.md')
  .map((file) => file.replace('.md', ''));
const recipes = names.map((name) => ({ name, ...recipe(name) }));

let copy: ReturnType<typeof temporaryFolder>;
beforeAll(() => {
  copy = temporaryFolder();
  for (const path of COPIED) {
    cpSync(join(ROOT, path), join(copy.path, path), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy.path, 'node_modules'));
  for (const [file, code] of recipes.flatMap(({ files }) => files)) {
    writeFileSync(join(copy.path, file), code);
  }
  for (const [table, line] of recipes.flatMap(({ lines }) => lines)) {
    const path = join(copy.path, table);
    writeFileSync(path, withLine(readFileSync(path, 'utf8'), line));
  }
});
afterAll(() => copy.remove());

const run = promisify(execFile);

async function outcome(name: string): Promise<unknown> {
  const env = { ...process.env, POLICY };
  const folder = join(copy.path, 'made', name);
  mkdirSync(folder, { recursive: true });
  const script = ['--import', 'tsx', 'test/docs/recipes/main.ts', name, folder];
  const { stdout } = await run(process.execPath, script, { cwd: copy.path, env });
  return JSON.parse(stdout);
}

describe('a recipe', () => {
  test.each(recipes)(
    '$name is a screen with one new file and one line for each of its halves',
    ({ name, text, files, lines }) => {
      const halves = name === 'view' ? 2 : 1;
      expect(text.split('\n').length).toBeLessThanOrEqual(70);
      expect([files.length, lines.length]).toEqual([halves, halves]);
      for (const [file] of files) expect(existsSync(join(ROOT, file))).toBe(false);
      expect(dirname(files.at(-1)![0])).toBe(dirname(lines.at(-1)![0]));
    },
  );

  test('is in the index of recipes, which is in that of the docs', () => {
    const index = readFileSync(join(PAGES, 'README.md'), 'utf8');
    const linked = [...index.matchAll(/\]\((\w+)\.md\)/g)].map(([, name]) => name!);
    expect(linked.sort()).toEqual([...names].sort());
    expect(readFileSync(join(ROOT, 'docs', 'README.md'), 'utf8')).toContain('extending/README.md');
  });

  test('compiles', async () => {
    writeFileSync(
      join(copy.path, 'tsconfig.json'),
      readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')
        .replace(/"(examples|bench|scripts)",/g, '')
        .replace('"test"', '"test/docs/recipes"'),
    );
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    for (const project of ['.', 'page']) {
      const checked = await run(process.execPath, [tsc, '--noEmit', '-p', project], {
        cwd: copy.path,
      }).catch(({ stdout }: { stdout: string }) => ({ stdout }));
      expect(checked.stdout).toBe('');
    }
  });

  const outcomes: Readonly<Record<string, unknown>> = {
    loss: { close: true, refused: true },
    tool: [
      { output: '14', ok: true },
      { output: expect.stringContaining('not a whole number: x'), ok: false },
    ],
    provider: {
      output: 'Page 1: A mill race drives a wheel.',
      ok: true,
      asked: ['/?action=query&list=search&format=json&srsearch=mill+race&srlimit=3'],
    },
    wire: { server: 'acme', contextMax: 300, text: 'one<|end|>', version: 1 },
    topic: { read: [{ key: 'q1', line: 'Ada: too easy', links: 1 }], last: 'notes' },
    exporter: { counts: [3, 1], steps: [0, 1, 2, 3], helped: true },
    source: {
      named: true,
      taken: ['0', '1', '2'].map((number) => ({
        ...{ question: 'What is 1 + 1?', number },
        at: { count: String(Number(number) + 1) },
      })),
    },
    view: {
      data: [1, 2, 3, 4, 5],
      drawn: {
        tabs: [
          ...[
            'Results',
            'Overview',
            'What happened',
            'Metrics',
            'Topics',
            'Rollouts',
            'Pareto',
            'Weights',
            'Replay',
          ],
          'Pace',
        ],
        view: [1, 2, 3, 4, 5].map((step) => `step ${step} took … `).join(''),
      },
    },
    dialect: {
      ...{ turn: 'answer', learnt: '3', ends: true },
      read: expect.stringMatching(/^<answer>.+<\/answer>$/),
    },
  };

  test.each(Object.keys(outcomes))('for %s does what its page says', async (name) => {
    expect(await outcome(name)).toEqual(outcomes[name]);
  });

  test('for job trains a policy', async () => {
    const questions = join(copy.path, 'questions.csv');
    writeFileSync(questions, 'question,answer\n1 + 2,3\n2 + 2,4\n3 + 2,5\n4 + 2,6\n');
    const settings = sets({
      ...{ policy: POLICY, questions, tools: 'none', rounds: 1, rollouts: 2, batchGroups: 2 },
      ...{ promptMax: 64, responseMax: 16, heldOut: 1, threads: 1 },
    });
    const command = ['cli/main.ts', 'run', 'grpo', '--run', 'one', ...settings];
    const { err, code } = await runOf('--import=tsx', copy.path, ...command);
    expect([code, err]).toEqual([0, expect.stringContaining('done')]);
  });

  test('is one of those that this file runs', () => {
    expect([...Object.keys(outcomes), 'job'].sort()).toEqual([...names].sort());
  });
});
