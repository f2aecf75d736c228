/**
 * The ready job deep-agent as a researcher runs it: a policy's folder, questions, a library of functions and
 * an index of it by a real encoder. The policy is the small one of the example, and answers for its auxiliary
 * model and the simulator too.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { functions } from '../../examples/deepAgent/world/functions.ts';
import { goldOf, makeTasks } from '../../examples/deepAgent/world/tasks.ts';
import { builtMillrace, type Ended, ROOT, sets } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';
import { tinyEncoder } from '../support/tinyEncoder.ts';

const folder = temporaryFolder();
const home = folder.path;
const millrace = (...args: readonly string[]): Promise<Ended> => builtMillrace(home, ...args).ended;
const write = (name: string, rows: readonly object[]): void =>
  writeFileSync(join(home, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));

/** The gold of a question as a file has it. */
function goldIn(question: string): object {
  const gold = goldOf(question);
  return { kind: 'calls', items: gold.kind === 'calls' ? gold.calls : [] };
}

const settings = {
  policy: join(ROOT, 'examples/deepAgent/base'),
  questions: 'questions.jsonl',
  library: 'functions.jsonl',
  retriever: 'functions.index',
  ...{ rounds: 1, explore: 4, heldOut: 2, rollouts: 4, batchGroups: 2 },
  ...{ promptMax: 1024, responseMax: 200 },
  ...{ 'episode.actions': 4, 'episode.top': 2, 'episode.context': 1500, 'simulator.maxTokens': 24 },
  'auxiliary.maxTokens': 24,
};

beforeAll(async () => {
  await tinyEncoder(join(home, 'e5-tiny'), 'bert', { pooling: 'mean' });
  const asked = makeTasks(1, 'train', 8);
  write(
    'questions.jsonl',
    asked.map(({ id, question, answer }) => ({
      ...{ id, question, answers: [answer], source: 'world', ability: 'qa' },
      task: { gold: goldIn(question) },
    })),
  );
  write('functions.jsonl', functions);
  const built = await millrace('retriever', 'build', 'functions.jsonl', '--encoder', 'e5-tiny');
  expect([built.code, built.out]).toEqual([0, expect.stringContaining('300 passages')]);
});
afterAll(() => folder.remove());

interface ScoredRecord {
  readonly rewards: readonly { readonly parts: Readonly<Record<string, number>> }[];
}

interface Call {
  readonly tool: string;
  readonly output: string;
}

test('a DeepAgent run finds functions by the index, trains, and is repeated bit for bit', async () => {
  const ran = await millrace('run', 'deep-agent', ...sets(settings), '--run', 'deep');
  expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('done;')]);
  const { out } = await millrace('tap', 'deep.tool-calls', '-o', 'ndjson');
  const calls = out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line).value ?? JSON.parse(line)) as Call);
  const names = new Set(functions.map(({ name }) => name));
  const found = calls
    .filter(({ tool }) => tool === 'tool_search')
    .flatMap(({ output }) => JSON.parse(output) as { readonly name: string }[]);
  expect(found.length).toBeGreaterThan(0);
  expect(found.filter(({ name }) => !names.has(name))).toEqual([]);
  expect(calls.filter(({ tool }) => tool === 'tool_call').length).toBeGreaterThan(0);
  const scored = await millrace('tap', 'deep.scored', '-o', 'ndjson');
  const parts = scored.out
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => ((JSON.parse(line).value ?? JSON.parse(line)) as ScoredRecord).rewards)
    .map((reward) => reward.parts);
  // The questions' gold calls decide what a right call is, and how well the question went.
  expect(parts.every(({ path, success }) => path !== undefined && success !== undefined)).toBe(
    true,
  );
  expect(parts.some(({ attempted, right }) => attempted! > right!)).toBe(true);
  const verified = await millrace('replay', 'deep', '--verify');
  expect([verified.code, verified.out]).toEqual([0, expect.stringContaining('bit for bit')]);
});

test('a DeepAgent run is evaluated in its episodes, with success and path by the gold calls', async () => {
  const asked = ['--questions', 'questions.jsonl', '--limit', '3', '--json', '--run', 'table'];
  const { code, out, err } = await millrace('eval', '--policy', 'deep', ...asked);
  expect([code, err]).toEqual([0, expect.stringContaining('dialect deep')]);
  const { rows } = JSON.parse(out) as { rows: readonly Record<string, unknown>[] };
  expect(rows).toMatchObject([{ source: 'world', measure: 'task', questions: 3 }]);
  expect(rows[0]!.path).toBeGreaterThanOrEqual(rows[0]!.correctness as number);
  const calls = await millrace('tap', 'table.tool-calls', '-o', 'ndjson');
  expect(calls.out).toContain('tool_call');
  const verified = await millrace('replay', 'table', '--verify');
  expect([verified.code, verified.out]).toEqual([0, expect.stringContaining('bit for bit')]);
});

test('a DeepAgent run with a question that needs an environment is refused', async () => {
  write('webshop.jsonl', [{ id: 0, session_id: 'fixed_0' }]);
  const asked = sets({ ...settings, questions: 'webshop.jsonl' });
  const { code, err } = await millrace('run', 'deep-agent', ...asked, '--run', 'shop');
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/webshop-0 needs an environment.*environment\.url/),
  ]);
});

test('a DeepAgent run with the index of another library is refused before the first rollout', async () => {
  write('functions.jsonl', functions.slice(1));
  const other = await millrace('run', 'deep-agent', ...sets(settings), '--run', 'other');
  expect([other.code, other.err]).toEqual([
    2,
    expect.stringMatching(/300 passages.*299 functions/),
  ]);
  // Nor does a run go on with it that began with the library as it was.
  const file = join(home, 'runs/deep/run.json');
  const record = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...record, status: 'stopped' }));
  const resumed = await millrace('run', '--run', 'deep');
  expect([resumed.code, resumed.err]).toEqual([
    1,
    expect.stringMatching(/functions\.jsonl, an input of this run, has changed since it started/),
  ]);
});
