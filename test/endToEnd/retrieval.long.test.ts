/**
 * A ready job whose search is a retriever, as a researcher runs it: the corpus is served by one process,
 * asked by another, and the run is repeated when the server is gone.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { writeWorld } from '../../examples/quickstart/world/files.ts';
import { builtMillrace, type Command, type Ended, ROOT, sets } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';

const folder = temporaryFolder();
const home = folder.path;
const millrace = (...args: readonly string[]): Promise<Ended> => builtMillrace(home, ...args).ended;
let server: Command;
let url = '';

const settings = {
  policy: join(ROOT, 'examples/quickstart/base'),
  questions: 'few.csv',
  tools: 'search,python',
  'tools.search.provider': 'retriever',
  searchTop: 1,
  rounds: 1,
  explore: 4,
  heldOut: 2,
  rollouts: 4,
  initialRollouts: 2,
  batchGroups: 2,
  miniBatches: 1,
  promptMax: 256,
  responseMax: 160,
};

beforeAll(async () => {
  const world = await writeWorld(home, 1);
  const [head, ...rows] = readFileSync(world.train, 'utf8').split('\n');
  const facts = rows.filter((row) => !/quickstart-(none|python)/.test(row)).slice(0, 12);
  writeFileSync(join(home, 'few.csv'), [head, ...facts].join('\n'));
  server = builtMillrace(home, 'retriever', 'serve', 'corpus.jsonl', '--port', '0');
  await until(() => {
    if (server.process.exitCode !== null) throw new Error(server.said);
    return /passages at/.test(server.said);
  });
  url = /passages at (\S+)\/retrieve/.exec(server.said)![1]!;
});
afterAll(async () => {
  server.process.kill('SIGKILL');
  await server.code;
  await folder.remove();
});

interface Call {
  readonly tool: string;
  readonly input: string;
  readonly output: string;
  readonly ok: boolean;
}

async function searches(run: string): Promise<readonly Call[]> {
  const { out } = await millrace('tap', `${run}.tool-calls`, '-o', 'ndjson');
  const lines = out.split('\n').filter((line) => line !== '');
  return lines
    .map((line) => (JSON.parse(line).value ?? JSON.parse(line)) as Call)
    .filter(({ tool }) => tool === 'search');
}

test('a run asks a retrieval server, and is replayed without it', async () => {
  const ran = await millrace(
    'run',
    'arpo',
    ...sets({ ...settings, 'tools.search.url': url }),
    '--run',
    'far',
  );
  expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('done;')]);
  const corpus = readFileSync(join(home, 'corpus.jsonl'), 'utf8').split('\n').filter(Boolean);
  const texts = new Set(corpus.map((row) => `${JSON.parse(row).title}\n${JSON.parse(row).text}`));
  const calls = await searches('far');
  expect(calls.length).toBeGreaterThan(0);
  for (const { output, ok } of calls) {
    expect(ok && (output === 'No search results found.' || texts.has(output))).toBe(true);
  }
  expect(calls.some(({ output }) => texts.has(output))).toBe(true);
  server.process.kill('SIGTERM');
  expect(await server.code).toBe(0);
  const verified = await millrace('replay', 'far', '--verify');
  expect([verified.code, verified.out]).toEqual([0, expect.stringContaining('bit for bit')]);
});
