import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Kafka, type KafkaMessage, logLevel } from 'kafkajs';
import { firstValueFrom, lastValueFrom, take, toArray } from 'rxjs';
import { defineTopic } from '../../../streams/contracts/defineTopic.ts';
import { record, text, whole } from '../../../streams/contracts/shapes.ts';
import { kafkaSettings } from '../../../streams/foreign/kafkaUrl.ts';
import { seal } from '../../../streams/foreign/wireFormat.ts';
import { type KafkaLogOptions, openKafkaLog } from '../../../streams/kafka/openKafkaLog.ts';
import { STATE_TOPIC } from '../../../streams/kafka/stateTopic.ts';
import type { Log } from '../../../streams/log.ts';
import { recordsOf } from '../../../streams/recordsOf.ts';
import type { Topic } from '../../../streams/topic.ts';
import { allTopics, topics } from '../../../topics/index.ts';
import { describeKafka, freshRun, kafkaUrl } from '../../support/kafka.ts';
import { metric, question, samples } from '../../support/records.ts';
import { until } from '../../support/until.ts';

const all = async <T>(of: Log, topic: Topic<T>): Promise<readonly T[]> => {
  const records$ = of.tap(topic, { from: { kind: 'earliest' }, follow: false });
  return (await lastValueFrom(records$.pipe(toArray()))).map(({ value }) => value);
};

describeKafka('a log on Kafka', () => {
  let run: string;
  let logs: Log[];
  const open = async (options: Partial<KafkaLogOptions> = {}): Promise<Log> => {
    const log = await openKafkaLog({
      topics: allTopics,
      url: kafkaUrl,
      run,
      mode: 'write',
      ...options,
    });
    logs.push(log);
    return log;
  };
  const fill = (log: Log, count: number): Promise<void> =>
    log.commit((tx) => {
      for (let i = 0; i < count; i++) tx.append(topics.questions, question({ id: `q${i}` }));
    });
  beforeEach(() => {
    run = freshRun();
    logs = [];
  });
  afterEach(async () => {
    for (const log of logs) await log.close();
  });

  test('leaves no connection open, whatever it was doing when it was closed', async () => {
    const sockets = (): number =>
      process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;
    await fill(await open(), 3);
    const before = sockets();
    for (let i = 0; i < 40; i++) {
      const log = await openKafkaLog({ topics: allTopics, url: kafkaUrl, run, mode: 'read' });
      const from = { from: { kind: 'earliest' }, follow: true } as const;
      const tapped = [topics.questions, topics.weights].map((topic) =>
        log.tap(topic as Topic<unknown>, from).subscribe({ error: () => undefined }),
      );
      const stats = log.stats().catch(() => undefined);
      const lag = log.lag(topics.questions, 'g').catch(() => undefined);
      for (let turns = 0; turns < 3 * i; turns++) await new Promise(setImmediate);
      await log.close();
      await Promise.all([stats, lag]);
      for (const tap of tapped) tap.unsubscribe();
    }
    await until(() => sockets() <= before);
    expect(sockets()).toBeLessThanOrEqual(before);
  });

  describe('whose worker name another process takes over', () => {
    test('fails with a sentence that says so, and loses nothing', async () => {
      const former = await open();
      await fill(former, 2);
      const latter = await open();
      await expect(fill(former, 1)).rejects.toMatchObject({ code: 'FENCED' });
      await expect(fill(former, 1)).rejects.toThrow(/worker "main".*--worker/);
      await fill(latter, 1);
      expect(await all(latter, topics.questions)).toHaveLength(3);
    });

    test('cannot settle what the other process was given', async () => {
      const former = await open();
      await fill(former, 2);
      const options = { group: 'g', inflightMax: 5 };
      const [first] = await firstValueFrom(
        former.read(topics.questions, options).pipe(take(2), toArray()),
      );
      const latter = await open();
      const again = await firstValueFrom(latter.read(topics.questions, options));
      expect(again.value.id).toBe('q0');
      await expect(former.commit((tx) => tx.settle(first!))).rejects.toMatchObject({
        code: 'FENCED',
      });
      await latter.commit((tx) => tx.settle(again));
      expect(await latter.lag(topics.questions, 'g')).toBe(1);
    });
  });

  test('fetches what it has just committed, even after an open transaction of another process', async () => {
    const log = await open();
    await fill(log, 1); // its record is at 0, the mark of its end at 1
    const { brokers } = kafkaSettings(kafkaUrl);
    const client = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
    const other = client.producer({ transactionalId: `${run}.other`, maxInFlightRequests: 1 });
    await other.connect();
    const undecided = await other.transaction();
    const messages = [{ key: 'theirs', value: 'x' }];
    await undecided.send({ topic: `${run}.questions`, messages }); // at 2
    await fill(log, 1);
    const fetching = log.fetch(topics.questions, [
      { partition: 0, offset: 3 },
      { partition: 0, offset: 0 },
    ]);
    // What it has not written itself is not waited for.
    const theirs = log.fetch(topics.questions, [{ partition: 0, offset: 40 }]);
    await expect(theirs).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await undecided.abort();
    await other.disconnect();
    expect((await fetching).map(({ position }) => position.offset)).toEqual([3, 0]);
    const aborted = log.fetch(topics.questions, [{ partition: 0, offset: 2 }]);
    await expect(aborted).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('shows another process everything that was settled before, even after a transaction that was left open', async () => {
    const log = await open();
    await fill(log, 1);
    const { brokers } = kafkaSettings(kafkaUrl);
    const client = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
    const killed = client.producer({ transactionalId: `${run}.killed`, maxInFlightRequests: 1 });
    await killed.connect();
    const undecided = await killed.transaction();
    const messages = [{ key: 'theirs', value: 'x' }];
    await undecided.send({ topic: `${run}.questions`, messages });
    await fill(log, 2);
    const reader = await openKafkaLog({ topics: allTopics, url: kafkaUrl, run, mode: 'read' });
    logs.push(reader);
    let shown = 0;
    const asked = reader
      .tap(topics.questions, { from: { kind: 'earliest' }, follow: false })
      .forEach(() => void shown++);
    // The last ones are those that can be read now.
    const last$ = reader.tap(topics.questions, { from: { kind: 'last', count: 5 }, follow: false });
    expect(await lastValueFrom(last$.pipe(toArray()))).toHaveLength(1);
    await undecided.abort();
    await killed.disconnect();
    await asked;
    expect(shown).toBe(3);
  });

  test('tells a lag only once what was committed before can be read, and not too small', async () => {
    const log = await open();
    await fill(log, 1);
    const { brokers } = kafkaSettings(kafkaUrl);
    const client = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
    const other = client.producer({ transactionalId: `${run}.other`, maxInFlightRequests: 1 });
    await other.connect();
    const undecided = await other.transaction();
    await undecided.send({ topic: `${run}.${STATE_TOPIC}`, messages: [{ key: 'k', value: '1' }] });
    await fill(log, 1);
    const reader = await openKafkaLog({ topics: allTopics, url: kafkaUrl, run, mode: 'read' });
    logs.push(reader);
    // What is decided says 1, and a worker may have settled what is not decided there.
    expect((await reader.stats()).find(({ topic }) => topic === 'questions')?.records).toBe(1);
    const lag = reader.lag(topics.questions, 'g');
    await undecided.abort();
    await other.disconnect();
    expect(await lag).toBe(2);
  });

  test('makes dead letters of what other clients wrote to its topics, and goes on', async () => {
    const log = await open();
    await fill(log, 1);
    await log.commit((tx) => tx.append(topics.metrics, metric())); // registers a schema that is not the topic's
    const sealed = (id: number): Buffer => seal(id, topics.metrics.codec.encode(metric()));
    const { brokers } = kafkaSettings(kafkaUrl);
    const foreign = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).producer();
    await foreign.connect();
    const key = 'theirs';
    const values = [Buffer.from('{"a":1}'), null, sealed(2), sealed(99), seal(1, Buffer.from('x'))];
    const messages = values.map((value) => ({ key, value }));
    await foreign.send({ topic: `${run}.questions`, messages });
    await foreign.disconnect();
    await log.commit((tx) => tx.append(topics.questions, question({ id: 'last' })));
    const seen: string[] = [];
    const reading = log
      .read(topics.questions, { group: 'g', inflightMax: 2 })
      .subscribe((delivery) => {
        seen.push(delivery.value.id);
        delivery.drop();
      });
    await until(() => seen.includes('last'));
    reading.unsubscribe();
    expect(seen).toEqual(['q0', 'last']);
    const letters = await all(log, topics.deadLetters);
    expect(letters.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/is not in the wire format/),
      expect.stringMatching(/is not in the wire format/),
      expect.stringMatching(/does not follow the contract of this topic/),
      expect.stringMatching(/names the unknown schema 99/),
      expect.stringMatching(/does not decode in field id/),
    ]);
    expect(letters.every((letter) => letter.key === key)).toBe(true);
  });

  test('keeps a set of finished records that no metadata could hold', async () => {
    const log = await open();
    await fill(log, 9000);
    const options = { group: 'g', inflightMax: 9000 };
    const deliveries = await firstValueFrom(
      log.read(topics.questions, options).pipe(take(9000), toArray()),
    );
    const odd = deliveries.filter((_, i) => i % 2 === 1);
    await log.commit((tx) => {
      for (const delivery of odd) tx.settle(delivery);
    });
    await log.close();
    const reopened = await open();
    expect(await reopened.lag(topics.questions, 'g')).toBe(4500);
    const left = await firstValueFrom(
      reopened.read(topics.questions, options).pipe(take(4500), toArray()),
    );
    expect(left.map(({ value }) => value.id)).toEqual(
      Array.from({ length: 4500 }, (_, i) => `q${2 * i}`),
    );
  });

  test('puts a key always into the same partition', async () => {
    const log = await open({ url: `${kafkaUrl}?partitions=3` });
    for (let round = 0; round < 2; round++) await fill(log, 30);
    const records$ = log.tap(topics.questions, { from: { kind: 'earliest' }, follow: false });
    const stored = await lastValueFrom(records$.pipe(toArray()));
    const places = new Map<string, Set<number>>();
    for (const { key, position } of stored) {
      places.set(key, (places.get(key) ?? new Set()).add(position.partition));
    }
    expect([...places.values()].every((partitions) => partitions.size === 1)).toBe(true);
    expect(new Set(stored.map(({ position }) => position.partition)).size).toBe(3);
    const found = await log.fetch(
      topics.questions,
      stored.map(({ position }) => position),
    );
    expect(found.map(({ key }) => key)).toEqual(stored.map(({ key }) => key));
    const last$ = log.tap(topics.questions, { from: { kind: 'last', count: 7 }, follow: false });
    expect(await lastValueFrom(last$.pipe(toArray()))).toHaveLength(7);
  });

  test('uses the partitions that its topics were created with, whatever is added to them', async () => {
    const log = await open({ url: `${kafkaUrl}?partitions=2`, worker: 'a' });
    const ids = Array.from({ length: 30 }, (_, i) => `q${i}`);
    await fill(log, 30);
    await log.commit((tx) => tx.append(topics.metrics, metric()));
    const admin = new Kafka({
      brokers: [kafkaUrl.slice('kafka://'.length)],
      logLevel: logLevel.NOTHING,
    }).admin();
    await admin.connect();
    await admin.createPartitions({
      topicPartitions: ['questions', 'metrics'].map((topic) => ({
        topic: `${run}.${topic}`,
        count: 5,
      })),
    });
    await admin.disconnect();
    const later = await open({ worker: 'b' });
    await fill(later, 30);
    await later.commit((tx) => {
      for (let step = 0; step < 9; step++) tx.append(topics.metrics, metric({ name: `m${step}` }));
    });
    const third = await open({ mode: 'read' });
    for (const reader of [log, later, third]) {
      const read = await all(reader, topics.questions);
      expect(read.map(({ id }) => id).sort()).toEqual([...ids, ...ids].sort());
      expect(await all(reader, topics.metrics)).toHaveLength(10);
    }
    const records$ = third.tap(topics.questions, { from: { kind: 'earliest' }, follow: false });
    const places = new Set(
      (await lastValueFrom(records$.pipe(toArray()))).map(
        ({ key, position }) => `${key}@${position.partition}`,
      ),
    );
    expect(places.size).toBe(30);
  });

  test('gives every record of every partition to a pulling reader', async () => {
    const log = await open({ url: `${kafkaUrl}?partitions=4` });
    await fill(log, 300);
    await fill(log, 300);
    const got: string[] = [];
    for await (const { value } of recordsOf(log, topics.questions, {
      from: { kind: 'earliest' },
    })) {
      got.push(value.id);
    }
    const expected = Array.from({ length: 300 }, (_, i) => [`q${i}`, `q${i}`]).flat();
    expect(got.sort()).toEqual(expected.sort());
  });

  test('compresses what it writes if requested, and reads it back', async () => {
    const log = await open({ url: `${kafkaUrl}?compression=gzip` });
    await log.commit((tx) => tx.append(topics.rollouts, samples.rollouts.full));
    expect(await all(log, topics.rollouts)).toEqual([samples.rollouts.full]);
  });

  test('opened to read, sees what another process writes, and writes nothing', async () => {
    const writer = await open();
    await fill(writer, 3);
    const reader = await open({ mode: 'read' });
    const following = firstValueFrom(
      reader
        .tap(topics.questions, { from: { kind: 'earliest' }, follow: true })
        .pipe(take(5), toArray()),
    );
    await fill(writer, 2);
    expect(await following).toHaveLength(5);
    expect((await reader.stats())[0]).toMatchObject({ topic: 'questions', records: 5 });
    await expect(fill(reader, 1)).rejects.toMatchObject({ code: 'READ_ONLY' });
  });

  test('reports why the broker creates no topic', async () => {
    const opening = open({ url: `${kafkaUrl}?replication=99` });
    await expect(opening).rejects.toMatchObject({ code: 'KAFKA' });
    await expect(opening).rejects.toThrow(/did not create the topic .*_state: .*replicat/i);
  });

  test('opened to read, reports that there is no such run', async () => {
    await expect(open({ mode: 'read' })).rejects.toMatchObject({ code: 'NO_LOG' });
  });

  test('refuses a contract that could not read existing records before it writes', async () => {
    const about = 'The test writes it and reads it.';
    const key = (value: { readonly id: string }): string => value.id;
    const older = defineTopic({ name: 't', about, key, shape: record('T', { id: text }) });
    const clashing = defineTopic({
      name: 't',
      about,
      key,
      version: 2,
      shape: record('T', { id: text, count: whole }),
    });
    const log = await open();
    await log.commit((tx) => tx.append(older, { id: 'a' }));
    const broken = log.commit((tx) => {
      tx.append(topics.metrics, metric());
      tx.append(clashing, { id: 'b', count: 2 });
    });
    await expect(broken).rejects.toMatchObject({ code: 'SCHEMA' });
    expect(await all(log, topics.metrics)).toEqual([]);
    expect(await all(log, older)).toEqual([{ id: 'a' }]);
  });

  test('is read by kafkajs, which sees only what was committed', async () => {
    const log = await open();
    await log.commit((tx) => tx.append(topics.questions, question({ id: 'for kafkajs' })));
    const { brokers } = kafkaSettings(kafkaUrl);
    const client = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
    const consumer = client.consumer({ groupId: `${run}.theirs` });
    await consumer.connect();
    await consumer.subscribe({ topics: [`${run}.questions`], fromBeginning: true });
    const message = await new Promise<KafkaMessage>((resolve) => {
      void consumer.run({ eachMessage: async (seen) => resolve(seen.message) });
    });
    await consumer.disconnect();
    expect(message.key?.toString()).toBe('for kafkajs');
    expect(message.offset).toBe('0');
    expect(message.headers?.contract?.toString()).toBe(`questions/${topics.questions.version}`);
    expect(message.value!.subarray(0, 5)).toEqual(Buffer.of(0, 0, 0, 0, 1));
    expect(topics.questions.codec.decode(message.value!.subarray(5)).id).toBe('for kafkajs');
  });

  const kcat = spawnSync('kcat', ['-V']).error === undefined;
  (kcat ? test : test.skip)('is read by kcat, where that is installed', async () => {
    const log = await open();
    await log.commit((tx) => tx.append(topics.questions, question({ id: 'for kcat' })));
    await all(log, topics.questions);
    const address = kafkaUrl.replace('kafka://', '');
    const { stdout } = spawnSync(
      'kcat',
      ['-C', '-b', address, '-t', `${run}.questions`, '-e', '-q', '-J'],
      { encoding: 'utf8' },
    );
    const seen = JSON.parse(stdout.split('\n')[0]!) as Record<string, unknown>;
    expect(seen).toMatchObject({ key: 'for kcat', partition: 0, offset: 0 });
    expect(seen.headers).toEqual(['contract', `questions/${topics.questions.version}`]);
    expect(String(seen.payload)).toContain('for kcat');
  });
});

test('a log on Kafka reports that no broker answers', async () => {
  const opening = openKafkaLog({
    topics: allTopics,
    url: 'kafka://user:secret@127.0.0.1:1',
    run: 'r',
    mode: 'write',
    openMs: 200,
  });
  await expect(opening).rejects.toMatchObject({ code: 'KAFKA' });
  await expect(opening).rejects.toThrow(/127\.0\.0\.1:1/);
  await expect(opening).rejects.not.toThrow(/secret/);
});
