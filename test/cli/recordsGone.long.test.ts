/** Runs whose records are gone, in their folder or on Kafka: nothing starts over in silence. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { readRunRecord, writeRunRecord } from '../../cli/runRecord.ts';
import { logFolder } from '../../cli/runs.ts';
import { openKafkaLog } from '../../streams/kafka/openKafkaLog.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { allTopics } from '../../topics/index.ts';
import { deleteTopics } from '../support/deleteTopics.ts';
import { temporaryFolder } from '../support/folder.ts';
import { describeKafka, freshRun, kafkaUrl } from '../support/kafka.ts';
import { tinyJobFile, tinyRun } from '../support/tinyRun.ts';
import { fakeIo } from './support/fakeIo.ts';

const temporary = temporaryFolder();
const runs = temporary.path;
afterAll(() => temporary.remove());

async function millrace(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const io = fakeIo(process.cwd());
  const code = await main([...args, '--runs', runs], io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

const weightsIn = async (folder: string): Promise<number> =>
  (await readdir(join(folder, 'weights'))).filter((name) => name.endsWith('.safetensors')).length;

describe('a run whose log is gone', () => {
  test.each([
    ['deleted', (folder: string) => rm(join(logFolder(folder), 'log.mdb'))],
    [
      'deleted with run.json',
      async (folder: string) => {
        await rm(logFolder(folder), { recursive: true });
        await rm(join(folder, 'run.json'));
      },
    ],
  ])('(%s) is not resumed over its weights, and starts over on request', async (how, spoil) => {
    const name = how.replaceAll(/\W/g, '-');
    const folder = await tinyRun(runs, name, {}, { status: 'stopped' });
    const made = await weightsIn(folder);
    expect(made).toBeGreaterThan(2);
    await spoil(folder);
    const refused = await millrace('run', tinyJobFile, '--run', name);
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringMatching(
        /RECORDS_GONE.*has weights of \d+ versions in .*its records are no longer in .*--start-over/,
      ),
    ]);
    expect(await weightsIn(folder)).toBe(made);
    const again = await millrace('run', tinyJobFile, '--run', name, '--start-over');
    expect([again.code, again.err]).toEqual([0, expect.stringContaining('starting run')]);
    expect(await weightsIn(join(folder, 'before-1'))).toBe(made);
    expect((await millrace('doctor', name)).code).toBe(0);
    const whole = await millrace('run', tinyJobFile, '--run', name, '--start-over');
    expect([whole.code, whole.err]).toEqual([2, expect.stringContaining('has its records')]);
  });

  test('is refused by every command if its file is empty or truncated', async () => {
    const folder = await tinyRun(runs, 'cut', {}, { status: 'stopped' });
    for (const text of ['', 'x'.repeat(100)]) {
      await writeFile(join(logFolder(folder), 'log.mdb'), text);
      expect((await millrace('tap', 'cut.rollouts')).err).toMatch(/with npx millrace doctor, /);
      for (const command of [
        ['run', tinyJobFile, '--run', 'cut'],
        ['tap', 'cut.rollouts'],
        ['topics', 'cut'],
        ['report', 'cut'],
        ['rewind', 'cut', '--to', 'step=1', '--into', 'never'],
        ['replay', 'cut', '--verify'],
        ['eval', '--policy', 'cut', '--questions', 'none.csv'],
      ]) {
        const { code, err } = await millrace(...command);
        expect([command[0], code, err]).toEqual([
          command[0],
          1,
          expect.stringMatching(/DAMAGED.*log\.mdb is (empty|cut short)/s),
        ]);
      }
    }
    expect(existsSync(join(runs, 'never'))).toBe(false);
  });

  test('starts over silently if it had produced nothing', async () => {
    const folder = await tinyRun(runs, 'nothing', {}, { status: 'failed' });
    for (const entry of ['log', 'metrics.jsonl', 'metrics.csv', 'weights']) {
      await rm(join(folder, entry), { recursive: true, force: true });
    }
    await mkdir(join(folder, 'weights'));
    await writeFile(join(folder, 'weights', '000000.safetensors'), 'a copy of the first policy');
    expect((await millrace('run', tinyJobFile, '--run', 'nothing')).code).toBe(0);
  });
});

describeKafka('a run on Kafka', () => {
  let name: string;
  let folder: string;
  beforeAll(async () => {
    name = freshRun();
    const open = () =>
      openKafkaLog({
        topics: allTopics,
        url: kafkaUrl,
        run: name,
        mode: 'write',
        clock: manualClock(),
      });
    folder = await tinyRun(runs, name, { open }, { log: kafkaUrl, status: 'stopped' });
  });

  test('is neither resumed nor read on another cluster', async () => {
    const record = (await readRunRecord(folder))!;
    await writeRunRecord(folder, { ...record, cluster: 'another' });
    for (const command of [
      ['run', '--run', name],
      ['topics', name],
      ['tap', `${name}.rollouts`],
      ['replay', name, '--verify'],
    ]) {
      const { code, err } = await millrace(...command);
      expect([code, err]).toEqual([1, expect.stringMatching(/OTHER_CLUSTER.*cluster another/s)]);
    }
    expect((await millrace('doctor', name)).out).toMatch(/on the Kafka cluster another/);
    await writeRunRecord(folder, record);
  });

  test('is refused when a topic is deleted, and doctor says where', async () => {
    await deleteTopics(name, 'scored');
    const { code, err } = await millrace('run', '--run', name);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /TOPIC_GONE.*\.scored was deleted on the broker.*another run.*--start-over/s,
      ),
    ]);
    const replayed = await millrace('replay', name, '--verify');
    expect([replayed.code, replayed.err]).toEqual([1, expect.stringMatching(/TOPIC_GONE/)]);
    const { out } = await millrace('doctor', name);
    expect(out).toMatch(
      /^scored: the topic .*\.scored was deleted on the broker, with \d+ records\n {2}→ /,
    );
    expect(out).not.toMatch(/report it/);
    const early = await millrace('run', '--run', name, '--start-over');
    expect([early.code, early.err]).toEqual([2, expect.stringContaining('has its records')]);
  });

  test('is not resumed over its weights when all topics are deleted, and starts over on request', async () => {
    await deleteTopics(name);
    const refused = await millrace('run', '--run', name);
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringMatching(
        /RECORDS_GONE.*its records are no longer in Kafka at kafka:.*--start-over/s,
      ),
    ]);
    expect((await millrace('doctor', name)).out).toMatch(
      /its topics are no longer on Kafka .*: someone deleted them/,
    );
    const part = await millrace('run', '--run', name, '--only', 'trainer');
    expect([part.code, part.err]).toEqual([1, expect.stringMatching(/RECORDS_GONE/)]);
    const again = await millrace('run', '--run', name, '--start-over');
    expect([again.code, again.err]).toEqual([0, expect.stringContaining('starting run')]);
    const record = await readRunRecord(folder);
    expect(record).toMatchObject({
      status: 'done',
      seed: 7,
      log: kafkaUrl,
      cluster: expect.anything(),
    });
    expect(await weightsIn(join(folder, 'before-1'))).toBeGreaterThan(2);
  });
});
