import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { main } from '../../cli/program.ts';
import type { RunRecord } from '../../cli/runRecord.ts';
import { sets } from '../support/commandLine.ts';
import { fakeIo } from './support/fakeIo.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const job = 'test/cli/fixtures/numbers.job.ts';

let runs: string;
beforeAll(async () => {
  runs = await mkdtemp(join(tmpdir(), 'millrace-run-'));
});
afterAll(() => rm(runs, { recursive: true }));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function millrace(...args: string[]): Promise<Ended> {
  const io = fakeIo(root);
  const code = await main([...args, '--runs', runs], io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

const recordOf = async (name: string): Promise<RunRecord> =>
  JSON.parse(await readFile(join(runs, name, 'run.json'), 'utf8'));

/** Ids in `rollouts`, in order. */
async function idsOf(name: string): Promise<string[]> {
  const { out } = await millrace(
    'tap',
    `${name}.rollouts`,
    '-o',
    'ndjson',
    '--fields',
    'question.id',
  );
  const lines = out.split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line)['question.id']);
}
const numbers = (count: number) => Array.from({ length: count }, (_, n) => `n-${n}`);

describe('millrace run', () => {
  it('runs a job, leaves a record of it, and says that it is done when asked again', async () => {
    const sets = ['--set', 'count=3', '--set', 'text=hi'];
    const first = await millrace('run', job, '--run', 'plain', '--seed', '4', ...sets);
    expect(first).toMatchObject({ code: 0, out: '' });
    expect(first.err).toMatch(/starting run plain of numbers, seed 4/);
    expect(first.err).toContain(
      `closed hi of seed 4 in plain\ndone; see it with: npx millrace report --runs ${runs} plain`,
    );
    expect(await recordOf('plain')).toMatchObject({
      job: { name: 'numbers', file: job },
      seed: 4,
      settings: { count: 3, text: 'hi', inner: { depth: 1 } },
      status: 'done',
      starts: [{ startedMs: expect.any(Number), endedMs: expect.any(Number) }],
    });
    expect(await idsOf('plain')).toEqual(numbers(3));
    const again = await millrace('run', job, '--run', 'plain');
    expect(again.err).toContain('run plain is already done');
    expect(again.code).toBe(0);
  });

  it('leaves files that only their owner may read', async () => {
    await millrace('run', job, '--run', 'private');
    await millrace('report', 'private');
    const entries = await readdir(join(runs, 'private'), { recursive: true });
    expect(entries).toContain('run.json');
    const open: string[] = [];
    for (const entry of ['.', ...entries]) {
      const { mode } = await stat(join(runs, 'private', entry));
      if ((mode & 0o077) !== 0) open.push(`${entry} ${(mode & 0o777).toString(8)}`);
    }
    expect(open).toEqual([]);
  });

  it('tells how many rows were bad, and where to see them', async () => {
    const { err } = await millrace('run', job, '--run', 'rows', '--set', 'bad=2');
    expect(err).toContain(
      `\n2 dead letters; list them with: npx millrace dlq ls --runs ${runs} rows\n`,
    );
    expect(await idsOf('rows')).toEqual(numbers(5));
  });

  it('numbers runs without a name', async () => {
    await millrace('run', job, '--set', 'count=1');
    await millrace('run', job, '--set', 'count=1');
    expect((await recordOf('numbers-1')).status).toBe('done');
    expect((await recordOf('numbers-2')).status).toBe('done');
  });

  it('refuses to go on with other settings or another seed', async () => {
    await millrace('run', job, '--run', 'bound', '--set', 'count=2', '--set', 'fail=stage');
    const other = await millrace('run', job, '--run', 'bound', '--seed', '9', '--set', 'count=3');
    expect(other.code).toBe(2);
    expect(other.err).toMatch(/started with\n {2}seed: 1, not 9\n {2}count: 2, not 3/);
  });

  it('goes on with the default of a setting that is newer than the run', async () => {
    await millrace('run', job, '--run', 'older', '--set', 'fail=stage');
    const {
      settings,
      digest: _digest,
      ...record
    } = (await recordOf('older')) as RunRecord & {
      readonly digest?: string;
    };
    const { bad: _, ...older } = settings;
    await writeFile(
      join(runs, 'older', 'run.json'),
      JSON.stringify({ ...record, settings: older }),
    );
    const resumed = await millrace('run', job, '--run', 'older');
    expect(resumed.err).toContain('the stage fails on purpose');
    expect((await recordOf('older')).settings).toEqual(settings);
    const other = await millrace('run', job, '--run', 'older', '--set', 'bad=3');
    expect(other.err).toMatch(/it was started with\n {2}bad: 0, not 3/);
  });

  it('may be started with other settings when it failed before its first record', async () => {
    const failed = await millrace('run', job, '--run', 'anew', '--set', 'fail=build');
    expect(failed.err).toContain('the build fails on purpose');
    expect(failed.code).toBe(1);
    expect((await millrace('run', job, '--run', 'anew')).code).toBe(0);
    expect((await recordOf('anew')).status).toBe('done');
  });

  it('keeps a run that failed after its first record', async () => {
    const before = await readdir(runs);
    expect((await millrace('run', job, '--set', 'fail=stage')).code).toBe(1);
    expect(await readdir(runs)).toHaveLength(before.length + 1);
  });

  it('lists the jobs of the package, and helps with one of them', async () => {
    const io = fakeIo(root);
    expect(await main(['run', '--list'], io)).toBe(0);
    expect(io.stdout()).toMatch(/^et-agent +ET-Agent: .*\n {2}--preset et-agent-3b /);
    expect(io.stdout()).toMatch(/^quickstart +Runs et-agent in an invented world/m);
    const help = fakeIo(root);
    expect(await main(['run', 'arpo', '--help'], help)).toBe(0);
    expect(help.stdout()).toMatch(/^ {2}policy= +initial policy/m);
    expect(help.stdout()).toMatch(/^ {2}lr=0\.000001 +learning rate/m);
    expect(help.stdout()).toMatch(/^ {2}arpo-7b +reasoning/m);
  });

  it('fails with the name of the stage that failed', async () => {
    const failed = await millrace('run', job, '--run', 'broken', '--set', 'fail=stage');
    expect(failed.code).toBe(1);
    expect(failed.err).toMatch(/work.*the stage fails on purpose/);
  });

  it.each<[string[], number, RegExp]>([
    [[job, '--set', 'cuont=3'], 2, /cuont: no such setting; did you mean count\?/],
    [[job, '--set', 'count=-3'], 2, /count: .*\(given: -3\)/],
    [[job, '--run', 'a.b'], 2, /run name "a\.b"/],
    [['none.ts'], 1, /no job file at/],
    [['et-agnet'], 1, /no job et-agnet; did you mean et-agent\?\nready jobs: et-agent, arpo/],
    [['et-agent'], 2, /policy: is required: .*\n {2}questions: is required: .*\n.*--show-settings/],
    [[job, '--preset', 'big'], 2, /job numbers has no preset big\nit has no presets/],
    [[job, '--settings', 'none.yaml'], 2, /cannot read the settings file .*none\.yaml \(ENOENT\)/],
    [
      ['arpo', ...sets({ policy: 'none', questions: 'none.csv', 'engine.urls': 'http://a' })],
      2,
      /engine\.server=embedded does not use engine\.urls; it needs engine\.server=sglang or/,
    ],
    [[], 2, /name a job: a file, or one of those that npx millrace run --list shows/],
    [['package.json'], 1, /its name must end in \.ts/],
    [['cli/nearest.ts'], 1, /exports no job; end the file with `export default defineJob/],
  ])('says what is wrong with %j', async (args, code, message) => {
    const wrong = await millrace('run', ...args);
    expect(wrong.err).toMatch(message);
    expect(wrong.code).toBe(code);
  });

  it('lists the settings of a job', async () => {
    const { code, out } = await millrace('run', job, '--set', 'text=hi', '--show-settings');
    expect(code).toBe(0);
    expect(out).toMatch(/^# settings of numbers: .*\ncount: 5 +# default · how many\n/);
    expect(out).toMatch(/\ntext: hi +# --set/);
    expect(out).toMatch(/\ninner:\n {2}depth: 1 +# default/);
  });
});
