/**
 * A run whose large topics were archived in part: every command reads it as before; and what `--keep-log`
 * takes.
 */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { retaining, retentionOf } from '../../cli/retention/retention.ts';
import { readRunRecord } from '../../cli/runRecord.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { openKafkaLog } from '../../streams/kafka/openKafkaLog.ts';
import type { Log } from '../../streams/log.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { allTopics } from '../../topics/index.ts';
import { startChild } from '../support/child.ts';
import { temporaryFolder } from '../support/folder.ts';
import { describeKafka, freshRun, kafkaUrl } from '../support/kafka.ts';
import { tinyJobFile, tinyRun } from '../support/tinyRun.ts';
import { fakeIo } from './support/fakeIo.ts';

const temporary = temporaryFolder();
const runs = temporary.path;
afterAll(() => temporary.remove());

async function millrace(...args: string[]) {
  const io = fakeIo(process.cwd());
  const code = await main([...args, '--runs', runs], io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

/** How a log of a run is opened, which is in its folder or on Kafka. */
type Opened = (folder: string) => Promise<Log>;

async function looksAtItAsBefore(name: string, folder: string, open: Opened): Promise<void> {
  const first = ['tap', `${name}.rollouts`, '-n', '3', '--from', 'earliest'];
  const before = await millrace(...first);
  const report = await millrace('report', name, '--json');
  const log = await open(folder);
  const { records } = await log.retain!({ bytesMax: 0, segmentRecords: 8 });
  expect(records).toBeGreaterThan(100);
  await log.close();
  expect(await millrace(...first)).toEqual(before);
  expect(await millrace('report', name, '--json')).toEqual(report);
  expect((await millrace('doctor', name, '--here')).code).toBe(0);
  expect((await millrace('replay', name, '--verify')).out).toContain('bit for bit');
  expect((await millrace('rewind', name, '--to', 'step=2', '--into', `${name}-fork`)).code).toBe(0);
  const into = ['--set', 'lr=1', '--into', `${name}-over`];
  expect((await millrace('replay', name, '--from', 'weights', ...into)).code).toBe(0);

  const archive = join(folder, 'log', 'archive');
  renameSync(archive, join(folder, 'away'));
  for (const args of [
    ['replay', name, '--verify'],
    ['rewind', name, '--to', 'step=2', '--into', `${name}-never`],
    first,
  ]) {
    const gone = await millrace(...args);
    expect([gone.code, gone.err]).toEqual([
      1,
      expect.stringMatching(/ARCHIVED.*archive.*\.gz, which does not exist: put it back/),
    ]);
  }
  const doctor = await millrace('doctor', name, '--here');
  expect([doctor.code, doctor.out]).toEqual([
    1,
    expect.stringMatching(/put the file back, or check/),
  ]);
  expect(doctor.out).not.toMatch(/bytes changed|look at the broker/);
  expect((await millrace('tap', `${name}.rollouts`, '-n', '1', '--from', '-1')).code).toBe(0);
  renameSync(join(folder, 'away'), archive);
  expect(await millrace(...first)).toEqual(before);
}

test('a run with an archive is tapped, examined, rewound and verified; without the archive it says what is missing', async () => {
  const folder = await tinyRun(runs, 'archived', { settings: { keepVersions: 0 } });
  await looksAtItAsBefore('archived', folder, (at) =>
    openLog({ folder: join(at, 'log'), mode: 'write', topics: allTopics }),
  );
});

test('a run whose archive is behind HTTP is verified, and says so when the server is gone', async () => {
  const server = startChild(
    fileURLToPath(new URL('../streams/embedded/children/objectServer.ts', import.meta.url)),
    '',
  );
  try {
    const archive = `http://127.0.0.1:${await server.line()}/bucket/far`;
    const folder = await tinyRun(runs, 'far', { settings: { keepVersions: 0, rounds: 1 } });
    const log = await openLog({ folder: join(folder, 'log'), mode: 'write', topics: allTopics });
    const { segments } = await log.retain!({ bytesMax: 0, segmentRecords: 8, archive });
    expect(segments).toBeGreaterThan(1);
    await log.close();
    expect((await millrace('replay', 'far', '--verify')).out).toContain('bit for bit');
    await server.kill();
    const gone = await millrace('replay', 'far', '--verify');
    expect([gone.code, gone.err]).toEqual([
      1,
      expect.stringMatching(/ARCHIVED.*far.*\.gz, which .*got no answer/),
    ]);
  } finally {
    await server.kill();
  }
});

describeKafka('a run on Kafka', () => {
  test('with an archive is read by every command as before', async () => {
    const run = freshRun();
    const url = `${kafkaUrl}?partitions=2`;
    const open = (folder: string) =>
      openKafkaLog({ topics: allTopics, url, run, mode: 'write', logFolder: join(folder, 'log') });
    const settings = { keepVersions: 0 };
    const clock = manualClock();
    const made = () => openKafkaLog({ topics: allTopics, url, run, mode: 'write', clock });
    const folder = await tinyRun(runs, run, { open: made, settings }, { log: url });
    await looksAtItAsBefore(run, folder, open);
  });
});

describe('--keep-log', () => {
  test.each([
    ['2GB', { bytesMax: 2e9 }],
    ['7d', { ageMaxMs: 7 * 86_400e3 }],
    ['500MB, 1.5h', { bytesMax: 5e8, ageMaxMs: 5400e3 }],
  ])('takes %p', (keepLog, kept) => {
    expect(retentionOf({ keepLog }, '/')).toEqual(kept);
    expect(retentionOf({ keepLog, archive: 'far' }, '/runs')).toEqual({
      ...kept,
      archive: '/runs/far',
    });
  });

  test('refuses a value that is neither a size nor an age, and an archive alone', () => {
    for (const keepLog of ['', '2', '2 gigs', '-1GB', '7d,']) {
      expect(() => retentionOf({ keepLog }, '/')).toThrow('--keep-log takes a size');
    }
    expect(() => retentionOf({ archive: 'far' }, '/')).toThrow('--archive needs --keep-log');
    expect(retentionOf({}, '/')).toBeNull();
  });

  test('is recorded in run.json and kept when the run is resumed', async () => {
    const run = ['run', tinyJobFile, '--run', 'kept', '--set', 'rounds=1', '--set', 'explore=8'];
    const { code } = await millrace(...run, '--keep-log', '1GB');
    expect(code).toBe(0);
    expect((await readRunRecord(join(runs, 'kept')))?.retention).toEqual({ bytesMax: 1e9 });
  });

  test('is reported once if it cannot be kept, and the run goes on', async () => {
    const said: string[] = [];
    let asked = 0;
    const full = {
      retain: async () => {
        asked += 1;
        throw new Error('no space left');
      },
    } as unknown as Log;
    const twice = new Promise<void>((resolve) => {
      const end = retaining(
        full,
        { bytesMax: 1 },
        (line) => {
          said.push(line);
        },
        1,
      );
      const look = setInterval(() => {
        if (asked < 3) return;
        clearInterval(look);
        void end().then(resolve);
      }, 1);
    });
    await twice;
    expect(said).toEqual(['cannot archive records (no space left); keeping the whole log']);
  });
});
