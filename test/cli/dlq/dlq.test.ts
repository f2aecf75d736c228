import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../../cli/program.ts';
import { readRunRecord } from '../../../cli/runRecord.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { fakeIo } from '../support/fakeIo.ts';

const temporary = temporaryFolder();
const runs = temporary.path;
const file = join(runs, 'questions.jsonl');
afterAll(() => temporary.remove());

async function millrace(
  ...args: string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const io = fakeIo(process.cwd());
  const code = await main([...args, '--runs', runs], io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

const row = (id: string, over: object = {}): string =>
  JSON.stringify({ id, source: 's', question: 'q', answers: ['a'], ability: 'qa', ...over });

const ids = async (): Promise<string[]> => {
  const { out } = await millrace('tap', 'letters.rollouts', '-o', 'ndjson');
  const lines = out.trim().split('\n');
  return lines.map((line) => (JSON.parse(line) as { question: { id: string } }).question.id);
};

beforeAll(async () => {
  const lines = [
    row('good'),
    row('bad', { answers: [] }),
    'no json',
    row('evil', { source: 'poison' }),
    row('worse', { ability: 'x\u001b[31m' }),
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const job = 'test/cli/fixtures/file.job.ts';
  const { code } = await millrace('run', job, '--run', 'letters', '--set', `file=${file}`);
  expect(code).toBe(0);
});

describe('millrace dlq', () => {
  test('lists the letters with reason and origin', async () => {
    const { code, out } = await millrace('dlq', 'ls', 'letters');
    expect(code).toBe(0);
    const lines = out.trimEnd().split('\n');
    expect(lines).toHaveLength(5);
    expect(out).toMatch(/questions\.jsonl:2 +bad +answers has no answer/);
    expect(out).toMatch(/questions:\d +evil +cannot be worked on/);
    expect(out).not.toContain('\u001b');
    const one = JSON.parse((await millrace('dlq', 'ls', 'letters', '--json')).out.split('\n')[0]!);
    expect(one).toMatchObject({ number: 0, letter: { place: 2, key: 'bad' }, retried: false });
  });

  test('shows a letter in full', async () => {
    const { out } = await millrace('dlq', 'show', 'letters', '0');
    expect(out).toContain(`payload  ${row('bad', { answers: [] })}`);
    const missing = await millrace('dlq', 'show', 'letters', '99');
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining('no dead letter 99')]);
  });

  test('puts a corrected row back once, and the run goes on with it', async () => {
    const still = await millrace('dlq', 'retry', 'letters', '0');
    expect(still.code).toBe(1);
    expect(still.out).toContain('not put back: still bad');
    await writeFile(file, [row('good'), row('bad'), 'no json', row('evil'), ''].join('\n'));

    const { code, out, err } = await millrace('dlq', 'retry', 'letters');
    expect(code).toBe(0);
    const lines = out.trimEnd().split('\n');
    expect(lines.filter((line) => line.endsWith('  put back'))).toEqual(['0  put back']);
    expect(out).toMatch(/not put back: questions@\d is a record of the run, not a row of a file/);
    expect(out).toContain('--from rollouts');
    expect(out).toContain('the row has no id');
    expect(out).toContain('has id worse');
    expect(err).toContain('1 put back; resume with: npx millrace run');
    expect((await readRunRecord(join(runs, 'letters')))?.status).toBe('stopped');

    expect(await ids()).toEqual(['good']);
    const again = ['run', 'test/cli/fixtures/file.job.ts', '--run', 'letters'];
    expect((await millrace(...again)).code).toBe(0);
    expect(await ids()).toEqual(['good', 'bad']);

    expect((await millrace('dlq', 'retry', 'letters', '0')).out).toContain('already put back');
    expect((await millrace('dlq', 'ls', 'letters')).out).toMatch(/answers has no answer +put back/);
  });

  test('says that there are no letters', async () => {
    await writeFile(file, `${row('good')}\n`);
    const job = 'test/cli/fixtures/file.job.ts';
    await millrace('run', job, '--run', 'clean', '--set', `file=${file}`);
    expect((await millrace('dlq', 'ls', 'clean')).out).toBe('run clean has no dead letters\n');
  });
});
