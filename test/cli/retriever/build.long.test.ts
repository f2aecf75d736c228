/**
 * `millrace retriever build`: a corpus and a small real encoder into an index that can be asked; what is
 * wrong is named.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { main } from '../../../cli/program.ts';
import { retrieverAt } from '../../../jobs/tools/retrieverAt.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { tinyEncoder } from '../../support/tinyEncoder.ts';
import { until } from '../../support/until.ts';
import { type FakeIo, fakeIo } from '../support/fakeIo.ts';

const folder = temporaryFolder();
const at = (name: string): string => join(folder.path, name);
const { signal } = new AbortController();

const passages = [
  { id: '0', contents: '"Mill race"\nA mill race is the channel of water that drives a wheel.' },
  { id: 1, title: 'Anna', text: 'Anna was first to see the moon.' },
  { id: 'two', contents: 'The town lies far from the river and the sea.' },
];

const write = (name: string, lines: readonly string[]): void =>
  writeFileSync(at(name), `${lines.join('\n')}\n`);
const run = async (...args: readonly string[]): Promise<FakeIo & { code: number }> => {
  const io = fakeIo(folder.path);
  const code = await main(['retriever', 'build', ...args], io);
  return Object.assign(io, { code });
};

beforeAll(async () => {
  await tinyEncoder(at('e5-tiny'), 'bert', { pooling: 'mean' });
  write(
    'corpus.jsonl',
    passages.map((passage) => JSON.stringify(passage)),
  );
});
afterAll(() => folder.remove());

test('retriever build writes an index next to the corpus, reports its progress, and the index answers', async () => {
  const { code, stdout, stderr } = await run('corpus.jsonl', '--encoder', 'e5-tiny');
  expect(stderr()).toEqual([
    'e5-tiny: 16 dimensions, mean pooling, at most 40 tokens; "query: " before queries, "passage: " before passages',
    'serve them with: npx millrace retriever serve corpus.index',
  ]);
  expect(stdout()).toBe(`indexed 3 passages in ${at('corpus.index')} (exact search)\n`);
  expect(code).toBe(0);
  const place = { corpus: '', fusion: 'rrf', denseWeight: 0.5, encoder: '', threads: 1 } as const;
  const retriever = await retrieverAt({ ...place, index: at('corpus.index') }, signal);
  const [hits] = await retriever.retrieve(['who saw the moon'], 3, signal);
  await retriever.close();
  expect(hits).toHaveLength(3);
  const anna = hits!.find(({ id }) => id === '1')!;
  expect(anna).toMatchObject({ title: 'Anna', contents: 'Anna\nAnna was first to see the moon.' });
  expect(hits!.map(({ score }) => score)).toEqual(
    hits!.map(({ score }) => score).sort((a, b) => b - a),
  );
});

test('retriever build names the first ten lines that are not passages, and counts all', async () => {
  const bad = [
    'no json',
    '{"contents":"x"}',
    '{"id":"0","contents":"again"}',
    '{"id":"e","contents":""}',
    '{"id":"f"}',
    '{"id":{}, "text":"x"}',
  ];
  write('bad.jsonl', [
    JSON.stringify(passages[0]),
    ...bad,
    ...Array.from({ length: 9 }, () => '[]'),
  ]);
  const { code, stdout, stderr } = await run('bad.jsonl', '--encoder', 'e5-tiny', '--exact', '0');
  expect(code).toBe(0);
  expect(stdout()).toContain('indexed 1 passage in');
  const [, ...said] = stderr();
  expect(said.slice(1, 6)).toEqual([
    'bad.jsonl:3: skipped: field "id": is missing',
    'bad.jsonl:4: skipped: field "id": "0" is a duplicate',
    'bad.jsonl:5: skipped: field "contents": is empty',
    'bad.jsonl:6: skipped: field "contents": is missing, and so is text',
    'bad.jsonl:7: skipped: field "id": is not a string',
  ]);
  expect(said.filter((line) => /:\d+: skipped: /.test(line))).toHaveLength(10);
  expect(said).toContain('skipped 15 lines in all');
});

test('retriever build is stopped by Ctrl-C with a sentence, and resumes where it was', async () => {
  write(
    'long.jsonl',
    Array.from({ length: 1500 }, (_, i) => JSON.stringify({ id: i, text: `the river ${i}` })),
  );
  const io = fakeIo(folder.path);
  const command = ['retriever', 'build', 'long.jsonl', '--encoder', 'e5-tiny'];
  const running = main(command, io);
  const state = join(at('long.index'), 'building.json');
  const encoded = (): number =>
    existsSync(state)
      ? (JSON.parse(readFileSync(state, 'utf8')) as { encoded: number }).encoded
      : 0;
  await until(() => encoded() !== 0);
  io.interrupt();
  expect(await running).toBe(130);
  expect(io.stderr().at(-1)).toContain('stopped; repeat the command to resume');
  const before = encoded();
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThan(1500);
  const again = await run('long.jsonl', '--encoder', 'e5-tiny');
  expect(again.stdout()).toContain('indexed 1,500 passages in');
  expect(again.code).toBe(0);
});

test('retriever build reads a compressed corpus, and explains a wrong command line, corpus or encoder', async () => {
  expect((await run('corpus.jsonl')).code).toBe(2);
  const said = async (...args: readonly string[]): Promise<string> => {
    const io = await run(...args);
    expect(io.code).toBe(1);
    return io.stderr().at(-1)!;
  };
  expect(await said('none.jsonl', '--encoder', 'e5-tiny')).toMatch(
    /corpus .*none\.jsonl does not exist/,
  );
  expect(await said('corpus.jsonl', '--encoder', 'nowhere')).toMatch(
    /nowhere.config\.json cannot be read/,
  );
  expect(await said('corpus.jsonl', '--encoder', 'e5-tiny')).toMatch(
    /corpus\.index already holds an index/,
  );
  const packed = gzipSync(readFileSync(at('corpus.jsonl')));
  writeFileSync(at('packed.jsonl.gz'), packed);
  expect((await run('packed.jsonl.gz', '--encoder', 'e5-tiny')).stdout()).toContain(
    `indexed 3 passages in ${at('packed.index')}`,
  );
  writeFileSync(at('cut.jsonl.gz'), packed.subarray(0, 60));
  expect(await said('cut.jsonl.gz', '--encoder', 'e5-tiny')).toMatch(
    /cannot decompress .*cut\.jsonl\.gz/,
  );
  write('empty.jsonl', ['']);
  expect(await said('empty.jsonl', '--encoder', 'e5-tiny')).toMatch(/no usable passage/);
});

test('retriever build takes a library of functions, and names a wrong one', async () => {
  const parameters = {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  };
  const forecast = { name: 'get_forecast', description: 'Weather of the next days.', parameters };
  const wrong = { ...forecast, name: 'get_tide', parameters: { ...parameters, required: ['sea'] } };
  write(
    'functions.jsonl',
    [{ type: 'function', function: forecast }, wrong, { ...forecast, name: 'get_moon' }].map(
      (row) => JSON.stringify(row),
    ),
  );
  const { code, stdout, stderr } = await run('functions.jsonl', '--encoder', 'e5-tiny');
  expect(stderr()).toContain(
    'functions.jsonl:2: skipped: field "parameters.required": "sea" is not one of the properties',
  );
  expect([code, stdout()]).toEqual([0, expect.stringContaining('indexed 2 passages in')]);
  const retriever = await retrieverAt({ index: at('functions.index') }, signal);
  const [hits] = await retriever.retrieve(['weather'], 2, signal);
  await retriever.close();
  expect(hits!.map(({ id }) => id).sort()).toEqual(['get_forecast', 'get_moon']);
  expect(hits!.find(({ id }) => id === 'get_moon')!.contents).toBe(
    'get_moon\nDescription: Weather of the next days.\nParameters: {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}',
  );
});
