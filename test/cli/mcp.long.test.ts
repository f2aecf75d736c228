/** `millrace mcp`, driven by the official client as a coding agent drives it. */

import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { built, ROOT } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';
import { readRun } from '../support/tinyCalibration.ts';
import { tinyRun } from '../support/tinyRun.ts';

const temporary = temporaryFolder();
const runs = temporary.path;
let client: Client;

beforeAll(async () => {
  await tinyRun(runs, 'first', { timing: 1 });
  const corpus = join(runs, 'corpus.jsonl');
  await writeFile(corpus, '{"id":"1","title":"Mills","text":"A mill race drives a wheel."}\n');
  client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [built(), 'mcp', '--runs', runs, '--corpus', corpus],
      cwd: ROOT,
    }),
  );
});
afterAll(async () => {
  await client?.close();
  temporary.remove();
});

async function call(name: string, args: Record<string, unknown> = {}) {
  const { content, isError } = await client.callTool({ name, arguments: args });
  const [first] = content;
  return { text: first?.type === 'text' ? first.text : '', isError: isError === true };
}

describe('millrace mcp', () => {
  test('offers tools that only read, and says so', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...['runs', 'topics', 'tap', 'report', 'doctor', 'diff', 'search'],
    ]);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
  });

  test('shows runs, topics, records and their health', async () => {
    expect(JSON.parse((await call('runs')).text)).toMatchObject([
      { name: 'first', status: 'done' },
    ]);
    const { topics } = JSON.parse((await call('topics', { run: 'first' })).text);
    const records = await readRun(join(runs, 'first'));
    const counts = Object.fromEntries(
      topics.map((one: { topic: string; records: number }) => [one.topic, one.records]),
    );
    expect(counts).toMatchObject({ rollouts: records.rollouts.length });
    const ask = { run: 'first', topic: 'rollouts' };
    const ids = async (more: object) =>
      (await call('tap', { ...ask, ...more, fields: ['id'] })).text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).id);
    expect(await ids({ count: 3 })).toEqual(records.rollouts.slice(-3).map(({ id }) => id));
    expect(await ids({ count: 2, from: 1 })).toEqual(
      records.rollouts.slice(1, 3).map(({ id }) => id),
    );
    const key = records.rollouts[0]!.question.id;
    const ofKey = records.rollouts.filter(({ question }) => question.id === key);
    expect(await ids({ count: 200, key })).toEqual(ofKey.map(({ id }) => id));
    const before = (await readdir(join(runs, 'first'))).toSorted();
    expect(JSON.parse((await call('report', { run: 'first' })).text)).toHaveProperty('rounds');
    expect((await readdir(join(runs, 'first'))).toSorted()).toEqual(before);
    expect((await call('doctor', { run: 'first' })).isError).toBe(false);
    expect(await call('search', { input: 'wheel' })).toEqual({
      text: 'Page 1: A mill race drives a wheel.',
      isError: false,
    });
  });

  test.each([
    ['tap', { run: 'first', topic: 'nothing' }, /nothing/],
    ['tap', { run: '../first', topic: 'rollouts' }, /./],
    ['tap', { run: 'first', topic: 'rollouts', key: '--where=process.exit(1)' }, /^$/],
    ['report', { run: '--help' }, /./],
    ['topics', { run: 'absent' }, /no run "absent"/],
    ['tap', { run: 'first', topic: 'rollouts', count: 100_000 }, /count/],
  ])('answers %s of %j, and goes on', async (name, args, answer) => {
    expect((await call(name, args)).text).toMatch(answer);
    expect((await call('runs')).isError).toBe(false);
  });
});
