/** A run on Kafka, copied into a folder: what is in the copy, and that the run can be recomputed from it. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { lastValueFrom, toArray } from 'rxjs';
import { verify } from '../../../jobs/replay/verify.ts';
import { retriedMark } from '../../../streams/deliveries/deadLetter.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { partOf, restOf } from '../../../streams/flow.ts';
import { kafkaSettings } from '../../../streams/foreign/kafkaUrl.ts';
import { copyRun } from '../../../streams/kafka/copyRun.ts';
import { openKafkaLog } from '../../../streams/kafka/openKafkaLog.ts';
import type { Log } from '../../../streams/log.ts';
import { runFlow } from '../../../streams/run/runFlow.ts';
import type { Topic } from '../../../streams/topic.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { shuffledTurns } from '../../../testing/scriptedPolicy.ts';
import { allTopics, examineRun, topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { describeKafka, freshRun, kafkaUrl } from '../../support/kafka.ts';
import { question } from '../../support/records.ts';
import {
  readRun,
  type TinyOptions,
  tinyCalibration,
  tinyFlow,
  tinyJob,
  tinySettings,
} from '../../support/tinyCalibration.ts';

const temporary = temporaryFolder();
afterAll(() => temporary.remove());

type Settings = NonNullable<TinyOptions['settings']>;

interface Place {
  readonly url: string;
  readonly run: string;
  readonly folder: string;
}

function place(partitions: number): Place {
  const run = freshRun();
  const folder = join(temporary.path, run);
  mkdirSync(join(folder, 'log'), { recursive: true });
  return { url: `${kafkaUrl}?partitions=${partitions}`, run, folder };
}

/** By one process, killed once where `commitsLeft` says. */
async function alone({ url, run, folder }: Place, settings: Settings, commitsLeft?: number) {
  const open = () =>
    openKafkaLog({ topics: allTopics, url, run, mode: 'write', clock: manualClock() });
  const options = { folder, open, settings };
  if (commitsLeft !== undefined) {
    const fate = { commitsLeft, lastIsWritten: true };
    expect((await tinyCalibration({ ...options, fate })).end).toBe('killed');
  }
  expect((await tinyCalibration({ ...options, timing: 4 })).end).toBe('quiescent');
}

/** By three workers, of whom two roll out. */
async function shared({ url, run, folder }: Place, settings: Settings): Promise<void> {
  const start = async (worker: string, timing: number) => {
    const log = await openKafkaLog({
      topics: allTopics,
      url,
      run,
      mode: 'write',
      worker,
      clock: manualClock(),
    });
    return { log, ...(await tinyFlow({ folder, settings }, log, shuffledTurns(timing))) };
  };
  const rollingOut = ['rollout', 'practice'];
  const leader = await start('main', 1);
  const others = [await start('a', 7), await start('b', 8)];
  const ended = new AbortController();
  const followed = others.map(({ flow, log }) =>
    runFlow(partOf(flow, { only: rollingOut }), { log, signal: ended.signal, forever: true }),
  );
  const own = partOf(leader.flow, { except: rollingOut });
  const elsewhere = restOf(leader.flow, own).stages;
  expect(await runFlow(own, { log: leader.log, elsewhere })).toBe('quiescent');
  ended.abort();
  await Promise.all(followed);
  for (const { close, log } of [leader, ...others]) {
    await close();
    await log.close();
  }
}

/** The copy is sound and counts what Kafka counts; the run comes out of it again as it is. */
async function comesOutAgain({ url, run, folder }: Place, settings: Settings): Promise<void> {
  const { ahead } = await copyRun({ topics: allTopics, url, run, folder: join(folder, 'log') });
  const recorded = await openLog({ folder: join(folder, 'log'), mode: 'read' });
  expect((await examineRun(recorded)).findings).toEqual([]);
  const there = await openKafkaLog({ topics: allTopics, url, run, mode: 'read' });
  const counts = async (log: Log) =>
    (await log.stats()).map(({ topic, records, lag }) => ({ topic, records, lag }));
  expect(await counts(recorded)).toEqual(await counts(there));
  await there.close();

  const again = join(folder, 'again');
  mkdirSync(join(again, 'log'), { recursive: true });
  const scratch = await openLog({ folder: join(again, 'log'), mode: 'write' });
  const found = await verify({
    job: tinyJob({ timing: 1000 }),
    run: 'tiny',
    seed: 7,
    recorded,
    scratch,
    ahead,
    settings: { ...tinySettings, ...settings },
    folder: again,
    clock: manualClock(5),
    signal: new AbortController().signal,
    print: () => undefined,
  });
  await scratch.close();
  await recorded.close();
  expect(found.difference).toBeNull();
  const [then, now] = [await readRun(folder), await readRun(again)];
  expect(now.weights).toEqual(then.weights);
  expect(now.scored).toEqual(then.scored);
  expect(now.rollouts.length).toBe(then.rollouts.length);
}

/** More questions wait for their versions than may be at work: none holds up one of another partition. */
const narrow = { concurrency: 2 };
const MAX_MS = 300_000;

describeKafka('a copy of a run on Kafka', () => {
  test.each([
    ['one partition, killed once', 1, {}, 40],
    ['several partitions', 3, narrow, undefined],
    ['several partitions, at a lag', 3, { ...narrow, lagMax: 4 }, undefined],
  ] as const)(
    'of %s, is copied back unchanged',
    async (_name, partitions, settings, commitsLeft) => {
      const at = place(partitions);
      await alone(at, settings, commitsLeft);
      await comesOutAgain(at, settings);
    },
    MAX_MS,
  );

  test(
    'of several partitions, has the same weights as a run in a folder',
    async () => {
      const [there, here] = [place(3), place(1)];
      await alone(there, narrow);
      expect((await tinyCalibration({ folder: here.folder, settings: narrow })).end).toBe(
        'quiescent',
      );
      await copyRun({
        topics: allTopics,
        url: there.url,
        run: there.run,
        folder: join(there.folder, 'log'),
      });
      const [onKafka, embedded] = [await readRun(there.folder), await readRun(here.folder)];
      expect(onKafka.weights).toEqual(embedded.weights);
    },
    MAX_MS,
  );

  test(
    'of several processes, is copied back unchanged',
    async () => {
      const at = place(2);
      await shared(at, narrow);
      await comesOutAgain(at, narrow);
    },
    MAX_MS,
  );

  test(
    'names the new positions of dead letters and of what was put back',
    async () => {
      const { url, run, folder } = place(3);
      const log = await openKafkaLog({
        topics: allTopics,
        url,
        run,
        mode: 'write',
        clock: manualClock(),
      });
      const all = <T>(of: Log, topic: Topic<T>) =>
        lastValueFrom(of.tap(topic, { from: { kind: 'earliest' }, follow: false }).pipe(toArray()));
      for (let i = 0; i < 6; i++) {
        await log.commit((tx) => tx.append(topics.questions, question({ id: `q${i}` })));
      }
      for (const { key, position } of await all(log, topics.questions)) {
        const origin = { origin: topics.questions.name, place: position.offset, key };
        await log.commit((tx) =>
          tx.append(topics.deadLetters, { ...origin, field: '', reason: 'no', payload: '' }),
        );
      }
      const last = (await all(log, topics.deadLetters)).at(-1)!;
      await log.commit((tx) => tx.mark(retriedMark(last.position.offset), 1));
      await log.close();

      await copyRun({ topics: allTopics, url, run, folder: join(folder, 'log') });
      const copy = await openLog({ folder: join(folder, 'log'), mode: 'read' });
      for (const { value } of await all(copy, topics.deadLetters)) {
        const [record] = await copy.fetch(topics.questions, [
          { partition: 0, offset: value.place },
        ]);
        expect(record!.key).toBe(value.key);
      }
      expect((await copy.standing!()).marks).toEqual({ [retriedMark(5)]: 1 });
      await copy.close();
    },
    MAX_MS,
  );

  test(
    'is refused if commits left no record, or there is no run',
    async () => {
      const { url, run, folder } = place(1);
      const at = { topics: allTopics, url, run, folder: join(folder, 'log') };
      await expect(copyRun(at)).rejects.toMatchObject({ code: 'NO_LOG' });
      const log = await openKafkaLog({ topics: allTopics, url, run, mode: 'write' });
      await log.commit((tx) => tx.append(topics.questions, question()));
      await log.close();
      const { brokers } = kafkaSettings(kafkaUrl);
      const older = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).producer();
      await older.connect();
      const counts = { questions: { records: 3, bytes: 30 } };
      const value = JSON.stringify({ incarnation: 1, commit: 1, counts });
      await older.send({ topic: `${run}._state`, messages: [{ key: 'writer/older', value }] });
      await older.disconnect();
      await expect(copyRun(at)).rejects.toMatchObject({ code: 'NO_HISTORY' });
    },
    MAX_MS,
  );
});
