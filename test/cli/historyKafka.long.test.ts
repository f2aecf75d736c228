/** The commands that look back at a run, over one whose records are on Kafka, in several partitions. */
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { readRunRecord, writeRunRecord } from '../../cli/runRecord.ts';
import { findRun, logFolder } from '../../cli/runs.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { openKafkaLog } from '../../streams/kafka/openKafkaLog.ts';
import { recordsOf } from '../../streams/recordsOf.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { allTopics, examineRun, topics } from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { describeKafka, freshRun, kafkaUrl } from '../support/kafka.ts';
import { readRun, tinyCalibration } from '../support/tinyCalibration.ts';
import { tinyRun } from '../support/tinyRun.ts';
import { fakeIo } from './support/fakeIo.ts';

const temporary = temporaryFolder();
const runs = temporary.path;
afterAll(() => temporary.remove());

async function millrace(
  ...args: string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const io = fakeIo(process.cwd());
  const code = await main([...args, '--runs', runs], io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

const settings = { keepVersions: 0 };
const url = `${kafkaUrl}?partitions=3`;

describeKafka('a run on Kafka', () => {
  const run = freshRun();
  let digests: readonly string[];

  beforeAll(async () => {
    const open = () =>
      openKafkaLog({ topics: allTopics, url, run, mode: 'write', clock: manualClock() });
    await tinyRun(runs, run, { open, settings }, { log: url });
    const log = await openKafkaLog({ topics: allTopics, url, run, mode: 'read' });
    const made: string[] = [];
    for await (const { value } of recordsOf(log, topics.weights, { from: { kind: 'earliest' } })) {
      made.push(String(value.digest));
    }
    await log.close();
    digests = made;
  });

  test('is verified, and nothing is left behind', async () => {
    const { code, out, err } = await millrace('replay', run, '--verify');
    expect([code, err]).toEqual([0, expect.stringContaining('copying the records')]);
    expect(out).toContain(`the replay of run ${run} is equal to its record, bit for bit`);
    expect((await readdir(runs)).filter((entry) => entry.startsWith('.'))).toEqual([]);
  });

  test.each([
    [1, ['rewind', run, '--to', 'step=2', '--into', 'never']],
    [1, ['diff', run, run]],
    [2, ['replay', run, '--verify']],
    [2, ['replay', run, '--from', 'weights', '--into', 'stopped']],
  ])('leaves no copy behind when Ctrl-C (%i) stops %j at once', async (interrupts, args) => {
    const scratch = (): readonly string[] => readdirSync(runs).filter((name) => name[0] === '.');
    const atExit: (readonly string[])[] = [];
    const atInterrupt: (readonly string[])[] = [];
    const io = {
      ...fakeIo(process.cwd()),
      // A real process would be gone then; here the command goes on in folders that are not there.
      exit: () => void atExit.push(scratch()),
    };
    const err = io.err;
    io.err = (line) => {
      err(line);
      if (!line.startsWith('copying the records')) return;
      atInterrupt.push(scratch());
      for (let i = 0; i < interrupts; i++) io.interrupt();
    };
    await main([...args, '--runs', runs], io);
    expect(atInterrupt[0]).toContainEqual(expect.stringMatching(`^\\.past-${run}-`));
    expect(atExit[0]).toEqual([]);
    expect(scratch()).toEqual([]);
  });

  test('leaves no copy behind when the run to compare with cannot be copied', async () => {
    const { record } = await findRun(fakeIo(runs), runs, run);
    await mkdir(join(runs, 'elsewhere'));
    await writeRunRecord(join(runs, 'elsewhere'), record);
    const { code, err } = await millrace('diff', run, 'elsewhere');
    expect([code, err]).toEqual([1, expect.stringContaining('NO_LOG')]);
    expect((await readdir(runs)).filter((entry) => entry.startsWith('.'))).toEqual([]);
  });

  test('is made again with another loss, in a folder', async () => {
    const into = ['--from', 'weights', '--set', 'lr=1', '--into', 'over'];
    const { code, out } = await millrace('replay', run, ...into);
    expect([code, out]).toEqual([0, expect.stringContaining('the first 0 have the same weights')]);
    expect((await readRunRecord(join(runs, 'over')))?.log).toBeUndefined();
    const over = await readRun(join(runs, 'over'));
    expect(over.weights).toHaveLength(digests.length);

    const differs = await millrace('diff', run, 'over');
    expect([differs.code, differs.out]).toEqual([1, expect.stringContaining('they first differ')]);
    expect((await millrace('diff', run, run)).out).toContain('have the same records');
  });

  test('is continued from any step, to the same end', async () => {
    for (const step of [0, 2]) {
      const into = `from-${step}`;
      const { code, err } = await millrace('rewind', run, '--to', `step=${step}`, '--into', into);
      expect([code, err]).toEqual([0, expect.stringContaining('resume with')]);
      const folder = join(runs, into);
      expect((await readRun(folder)).weights).toHaveLength(step + 1);
      expect((await tinyCalibration({ folder, settings, timing: 9 })).end).toBe('quiescent');
      const log = await openLog({ folder: logFolder(folder), mode: 'read' });
      expect((await examineRun(log)).findings).toEqual([]);
      await log.close();
      const { weights, metrics } = await readRun(folder);
      expect(weights.map(({ digest }) => digest)).toEqual(digests);
      const lines = readFileSync(join(folder, 'metrics.jsonl'), 'utf8').trimEnd().split('\n');
      expect(lines.map((line) => (JSON.parse(line) as { offset: number }).offset)).toEqual(
        metrics.map((_, offset) => offset),
      );
      expect((await millrace('diff', into, run)).out).toContain('have the same records');
    }
  });

  test('says which steps it has', async () => {
    const { code, err } = await millrace('rewind', run, '--to', 'step=99', '--into', 'x');
    expect([code, err]).toEqual([1, expect.stringContaining('available steps: 0-')]);
  });

  test('takes back a corrected row', async () => {
    const letters = freshRun();
    const file = join(runs, 'questions.jsonl');
    const row = (id: string, answers: readonly string[]): string =>
      JSON.stringify({ id, source: 's', question: 'q', answers, ability: 'qa' });
    await writeFile(file, `${row('good', ['a'])}\n${row('bad', [])}\n`);
    const job = ['run', 'test/cli/fixtures/file.job.ts', '--run', letters];
    const first = await millrace(...job, '--log', url, '--set', `file=${file}`);
    expect([first.code, first.err]).toEqual([
      0,
      expect.stringMatching(new RegExp(`dlq ls --runs \\S+ ${letters}`)),
    ]);
    await writeFile(file, `${row('good', ['a'])}\n${row('bad', ['b'])}\n`);

    const { code, out, err } = await millrace('dlq', 'retry', letters);
    expect([code, out]).toEqual([0, expect.stringContaining('put back')]);
    expect(err).toContain('1 put back; resume with: npx millrace run');
    expect((await millrace('dlq', 'retry', letters)).out).toContain('already put back');
    expect((await millrace(...job)).code).toBe(0);
    const taken = await millrace('tap', `${letters}.rollouts`, '-o', 'ndjson');
    const ids = taken.out.trim().split('\n');
    expect(
      ids.map((line) => (JSON.parse(line) as { question: { id: string } }).question.id).sort(),
    ).toEqual(['bad', 'good']);
  });
});
