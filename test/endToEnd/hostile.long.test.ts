/**
 * What a machine may do to a run in a folder: a full disk, a second start, a changed byte. Each is reported
 * in a sentence, and what was there before is there afterwards.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openLog } from '../../streams/embedded/openLog.ts';
import { millrace } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';

const JOB = 'bench/scale/job.ts';
const QUESTIONS = 60;
const settings = ['--set', `questions=${QUESTIONS}`, '--set', 'serviceMs=5'];

async function recordsOf(folder: string): Promise<Readonly<Record<string, number>>> {
  const log = await openLog({ folder: join(folder, 'log'), mode: 'read' });
  const stats = await log.stats();
  await log.close();
  return Object.fromEntries(stats.map(({ topic, records }) => [topic, records]));
}

const WHOLE = { questions: QUESTIONS, rollouts: 4 * QUESTIONS, 'tool-calls': 4 * QUESTIONS };

/** A disk of its own in memory; needs the right to mount. */
function mounted(at: string, options: string): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', at]).status === 0;
}

const probe = temporaryFolder();
const mountable = mounted(probe.path, 'size=100k');
if (mountable) spawnSync('umount', [probe.path]);
probe.remove();

describe('a full disk', () => {
  const disk = temporaryFolder();
  afterAll(() => {
    spawnSync('umount', [disk.path]);
    disk.remove();
  });
  const why = mountable ? '' : ' (skipped: it takes a file system in memory, which needs root)';

  (mountable ? test : test.skip)(
    `stops a run, which goes on when there is room${why}`,
    async () => {
      expect(mounted(disk.path, 'size=160k')).toBe(true);
      const run = ['run', JOB, '--run', 'full', '--runs', disk.path];
      const first = millrace(...run, ...settings);
      expect(await first.code).toBe(1);
      expect(first.said).toMatch(/the log could not be written \(.*free disk space/);
      const before = await recordsOf(join(disk.path, 'full'));
      expect(before.questions ?? 0).toBeGreaterThan(0);
      expect(before.rollouts ?? 0).toBeLessThan(4 * QUESTIONS);
      spawnSync('mount', ['-o', 'remount,size=40m', disk.path]);
      const second = millrace(...run);
      expect(await second.code).toBe(0);
      expect(await recordsOf(join(disk.path, 'full'))).toMatchObject(WHOLE);
    },
  );
});

describe('a run in a folder', () => {
  let folder = temporaryFolder();
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => folder.remove());
  const run = (...args: readonly string[]) =>
    millrace('run', JOB, '--run', 'r', '--runs', folder.path, ...args);

  test('that is started twice refuses the second, and the first goes on', async () => {
    const first = run(...settings, '--set', 'serviceMs=60000');
    const questions = (): Promise<number> =>
      recordsOf(join(folder.path, 'r')).then(
        (records) => records.questions ?? 0,
        () => 0,
      );
    await until(async () => (await questions()) >= QUESTIONS);
    const second = run();
    expect(await second.code).toBe(1);
    expect(second.said).toMatch(/LOCKED.*process \d+ is already writing this log; stop it first/);
    expect(first.process.exitCode).toBeNull();
    first.process.kill('SIGKILL');
    expect(await first.code).toBeNull();
  });

  test('with a changed byte says so, for run.json and for the log', async () => {
    expect(await run(...settings).code).toBe(0);
    const record = join(folder.path, 'r', 'run.json');
    const text = readFileSync(record, 'utf8');
    for (const [from, to] of [
      ['"serviceMs": 5', '"serviceMs": 7'],
      ['"seed"', '"sEed"'],
      ['{', 'z'],
    ] as const) {
      writeFileSync(record, text.replace(from, to));
      const again = run();
      expect(await again.code).toBe(1);
      expect(again.said).toMatch(
        /RUN_RECORD.*is damaged.*the run's records are not.*start the run again/s,
      );
    }
    writeFileSync(record, text);

    const log = join(folder.path, 'r', 'log', 'log.mdb');
    const bytes = readFileSync(log);
    const place = bytes.lastIndexOf('What is 7?');
    expect(place).toBeGreaterThan(0);
    for (let at = bytes.indexOf('What is 7?'); at >= 0; at = bytes.indexOf('What is 7?', at + 1)) {
      bytes[at] = (bytes[at] ?? 0) ^ 1;
    }
    writeFileSync(log, bytes);
    const tap = millrace('tap', 'r.questions', '--runs', folder.path);
    await tap.code;
    expect(tap.said).toMatch(/questions@\d+.*its checksum does not match.*millrace doctor/);
    expect(statSync(log).size).toBe(bytes.length);
  });
});
