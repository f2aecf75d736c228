/**
 * An evaluation on GAIA's questions with files: the policy reads the attachment, and a replay reads the record
 * alone.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { loadTokenizer } from '../../model/tokenizers/index.ts';
import { scriptedPolicy } from '../../testing/scriptedPolicy.ts';
import { type EngineServer, engineServer } from '../support/engineServer.ts';
import { ROOT } from '../support/exports.ts';
import { temporaryFolder } from '../support/folder.ts';
import { fakeIo } from './support/fakeIo.ts';

const folder = temporaryFolder();
const tokenizerFolder = join(ROOT, 'test/model/hf/fixtures/tokenizer');
let server: EngineServer;

beforeAll(async () => {
  const tokenizer = await loadTokenizer(tokenizerFolder);
  // It asks for the file, and answers with the number in it; the gold answers are beside the files.
  const script = ({ context }: { readonly context: string }): string => {
    const number = /has (\d+) arches/.exec(context)?.[1];
    const name = context.includes('all.json')
      ? 'all.json'
      : /Attached file: ([\w.]+)/.exec(context)?.[1];
    // Behind the question: the prompt has the tags, too.
    const told = context.slice(context.lastIndexOf('Attached file'));
    if (!told.includes('</result>'))
      return `<think>I read it.</think><process_file>${name}</process_file>`;
    return `<think>So.</think><answer>\\boxed{${number ?? 'unknown'}}</answer><|im_end|>`;
  };
  server = await engineServer({ engine: scriptedPolicy({ tokenizer, script }) });
  const place = join(folder.path, 'GAIA');
  mkdirSync(place);
  const rows = [
    { task_id: 'a', Question: 'How many arches?', answer: '41', file_name: 'bridge.csv' },
    { task_id: 'b', Question: 'What does all.json say?', answer: '7', file_name: 'bridge.csv' },
  ];
  writeFileSync(join(place, 'all.json'), JSON.stringify(rows));
  writeFileSync(join(place, 'bridge.csv'), 'The bridge,has 41 arches\n'.replace(',', ' '));
});
afterAll(async () => {
  await server.close();
  folder.remove();
});

async function millrace(...args: string[]) {
  const io = fakeIo(folder.path, 5000);
  const code = await main(args, io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

test('a question’s file is read, the answers beside it are not, and a replay needs no file', async () => {
  const { code, out, err } = await millrace(
    ...['eval', '--policy', server.url, '--model', 'base', '--tokenizer', tokenizerFolder],
    ...['--questions', 'GAIA/all.json', '--tools', 'process_file', '--files', 'GAIA'],
    ...['--run', 'gaia', '--json'],
  );
  expect([code, err]).toEqual([0, expect.anything()]);
  expect(JSON.parse(out).rows).toMatchObject([{ source: 'gaia', questions: 2, correctness: 0.5 }]);
  const calls = await millrace('tap', 'gaia.tool-calls', '-o', 'ndjson');
  expect(calls.out).toContain('The bridge has 41 arches');
  expect(calls.out).toContain('this question has no file \\"all.json\\"; its files: bridge.csv');
  rmSync(join(folder.path, 'GAIA/bridge.csv'));
  const verified = await millrace('replay', 'gaia', '--verify');
  expect([verified.code, verified.err + verified.out]).toEqual([
    0,
    expect.stringContaining('bit for bit'),
  ]);
});
