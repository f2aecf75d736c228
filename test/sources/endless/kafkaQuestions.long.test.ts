/**
 * Questions that others write to a topic: read once each, whatever is among them and whenever our process
 * dies.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { compressionsAlgorithms } from '@platformatic/kafka';
import avro from 'avsc';
import kafkajs, { type Admin, type Producer } from 'kafkajs';
import { kafkaQuestions } from '../../../sources/endless/kafkaQuestions.ts';
import { openAnyLog } from '../../../streams/openAnyLog.ts';
import { recordsOf } from '../../../streams/recordsOf.ts';
import { allTopics, topics } from '../../../topics/index.ts';
import { startChild } from '../../support/child.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { describeKafka, freshRun, kafkaUrl } from '../../support/kafka.ts';
import { startRegistry } from '../../support/registryServer.ts';
import { until } from '../../support/until.ts';
import { Taking } from './taking.ts';

const { CompressionTypes, Kafka, logLevel } = kafkajs;
const child = fileURLToPath(new URL('./children/askAll.ts', import.meta.url));
const question = (id: string) => JSON.stringify({ id, question: `${id}?`, answer: '1' });

describeKafka('a Kafka topic of foreign producers', () => {
  const brokers = [kafkaUrl.replace('kafka://', '')];
  let admin: Admin;
  let producer: Producer;
  let topic: string;
  const made: string[] = [];
  let taking: Taking | null = null;

  beforeAll(async () => {
    const kafka = new Kafka({ brokers, clientId: 'foreign', logLevel: logLevel.NOTHING });
    admin = kafka.admin();
    producer = kafka.producer();
    await admin.connect();
    await producer.connect();
  });
  afterAll(async () => {
    await producer.disconnect();
    // Not before: a producer of kafkajs asks for all topics that it has written to.
    await admin.deleteTopics({ topics: made });
    await admin.disconnect();
  });
  beforeEach(async () => {
    topic = `${freshRun()}-foreign`;
    made.push(topic);
    await admin.createTopics({ topics: [{ topic, numPartitions: 2 }], waitForLeaders: true });
  });
  afterEach(async () => {
    await taking?.stop();
    taking = null;
  });

  const send = (partition: number, ...values: (string | Buffer | null)[]) =>
    producer.send({ topic, messages: values.map((value) => ({ partition, value })) });
  const reading = (query = '') => {
    taking = new Taking(() => kafkaQuestions(`${kafkaUrl}/${topic}${query}`));
    return taking;
  };

  test('gives each record once from the earliest on, bad ones with their positions, and continues after them', async () => {
    await send(0, question('a'), 'no json', null, '{"question":"?"}', question('b'));
    await send(1, Buffer.from([0xff, 0xfe]), question('c'));
    const taking = reading();
    const first = await taking.take(3);
    await taking.stop();
    const all = [...first, ...(await taking.take(3))].sort();
    expect(all).toEqual(['0:1', '0:3', '1:0', 'a', 'b', 'c']);
    await taking.stop();
    await send(1, question('d'));
    expect(await taking.take(1)).toEqual(['d']);
  });

  /** Stopped after the first question after its start, in a topic that had one before. */
  async function begunAtTheEnd(): Promise<ReturnType<typeof reading>> {
    await send(0, question('old'));
    const taking = reading('?from=latest');
    const next = taking.take(1);
    await until(() => taking.cursors.size >= 2);
    await send(0, question('a'));
    expect(await next).toEqual(['a']);
    await taking.stop();
    return taking;
  }

  test('is read from the end on request, without missing anything from then on', async () => {
    const taking = await begunAtTheEnd();
    await send(1, question('b'));
    expect(await taking.take(1)).toEqual(['b']);
  });

  test('is read in an added partition from its first record, even if it began at the end', async () => {
    const taking = await begunAtTheEnd();
    await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
    await producer.disconnect();
    await producer.connect();
    await send(2, question('b'), question('c'));
    expect(await taking.take(2)).toEqual(['b', 'c']);
  });

  test('is read if compressed with gzip, snappy and lz4', async () => {
    const { snappy, lz4 } = compressionsAlgorithms;
    for (const [type, codec] of [
      [CompressionTypes.Snappy, snappy],
      [CompressionTypes.LZ4, lz4],
    ] as const) {
      (kafkajs.CompressionCodecs as Record<number, unknown>)[type] = () => ({
        compress: async ({ buffer }: { buffer: Buffer }) => codec.compressSync(buffer),
        decompress: async (bytes: Buffer) => codec.decompressSync(bytes),
      });
    }
    const types = [CompressionTypes.GZIP, CompressionTypes.Snappy, CompressionTypes.LZ4];
    for (const [i, compression] of types.entries()) {
      const messages = [{ partition: 0, value: question(`q${i}`) }];
      await producer.send({ topic, compression, messages });
    }
    expect(await reading().take(3)).toEqual(['q0', 'q1', 'q2']);
  });

  const whereUnread = compressionsAlgorithms.zstd.available ? test.skip : test;
  whereUnread('says what to do about zstd where Node.js does not have it', async () => {
    const codecs = kafkajs.CompressionCodecs as Record<number, unknown>;
    const unread = codecs[CompressionTypes.ZSTD];
    codecs[CompressionTypes.ZSTD] = () => ({
      compress: async ({ buffer }: { buffer: Buffer }) => zstdFrame(buffer),
    });
    const messages = [{ partition: 0, value: question('a') }];
    await producer.send({ topic, compression: CompressionTypes.ZSTD, messages }).finally(() => {
      codecs[CompressionTypes.ZSTD] = unread;
    });
    await expect(reading().take(1)).rejects.toThrow(
      /compressed with zstd, which Node\.js .* cannot decompress: resume the run with Node\.js 22\.15/,
    );
  });

  test('is read in Avro by the schemas of a registry', async () => {
    const registry = await startRegistry();
    try {
      const schema = {
        type: 'record',
        name: 'Asked',
        namespace: 'org.example',
        fields: [
          { name: 'id', type: 'string' },
          { name: 'question', type: 'string' },
          { name: 'answers', type: { type: 'array', items: 'string' } },
          { name: 'note', type: ['null', 'string'], default: null },
        ],
      } as const;
      const post = { method: 'POST', body: JSON.stringify({ schema: JSON.stringify(schema) }) };
      const reply = await fetch(`${registry.url}/subjects/foreign-value/versions`, post);
      const { id } = (await reply.json()) as { id: number };
      const sealed = (schemaId: number, body: Buffer): Buffer => {
        const head = Buffer.alloc(5);
        head.writeUInt32BE(schemaId, 1);
        return Buffer.concat([head, body]);
      };
      const type = avro.Type.forSchema(structuredClone(schema) as never);
      const body = type.toBuffer({ id: 'a', question: 'a?', answers: ['1'], note: null });
      await send(0, sealed(id, body), sealed(99, body), sealed(id, body.subarray(0, 3)));
      await send(0, question('json'));
      const taken = await reading(`?registry=${registry.url}`).take(4);
      expect(taken).toEqual(['a', '0:1', '0:2', 'json']);
    } finally {
      await registry.close();
    }
  });

  /** By a client of its own: an older one of kafkajs does not know the leaders of a new topic. */
  async function deleteUpTo(offset: number): Promise<void> {
    const fresh = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();
    await fresh.connect();
    await fresh.fetchTopicMetadata({ topics: [topic] });
    await fresh.deleteTopicRecords({
      topic,
      partitions: [{ partition: 0, offset: String(offset) }],
    });
    await fresh.disconnect();
  }

  test('has records that the broker deleted before they were read reported, whether live or stopped', async () => {
    const padded = (i: number) =>
      JSON.stringify({ id: `q${i}`, question: `${i}? ${'x'.repeat(10_000)}`, answer: '1' });
    for (let from = 0; from < 600; from += 50) {
      await send(0, ...Array.from({ length: 50 }, (_, i) => padded(from + i)));
    }
    const taking = reading();
    // One fetch is in memory, and the next waits until it is taken.
    const taken = await taking.take(10);
    await deleteUpTo(500);
    while (!taken.includes('q599')) taken.push(...(await taking.take(1)));
    const [letter, ...more] = taken.filter((one) => !one.startsWith('q'));
    expect(more).toEqual([]);
    const lost = Number(letter!.slice('0:'.length));
    expect(lost).toBeGreaterThan(10);
    expect(lost).toBeLessThan(500);
    const asked = [...Array(lost).keys(), ...Array.from({ length: 100 }, (_, i) => 500 + i)];
    expect(taken.filter((one) => one.startsWith('q'))).toEqual(asked.map((i) => `q${i}`));
    await taking.stop();
    await send(0, question('late'), question('later'));
    await deleteUpTo(601);
    expect(await taking.take(2)).toEqual(['0:600', 'later']);
  });

  test('has gaps of transactions that are not taken for lost records', async () => {
    const writer = new Kafka({ brokers, logLevel: logLevel.NOTHING }).producer({
      transactionalId: topic,
      maxInFlightRequests: 1,
      idempotent: true,
    });
    await writer.connect();
    for (const [i, kept] of [true, false, true].entries()) {
      const transaction = await writer.transaction();
      const value = question(`t${i}`);
      await transaction.send({ topic, messages: [{ partition: 0, value }] });
      await (kept ? transaction.commit() : transaction.abort());
    }
    await writer.disconnect();
    const taking = reading();
    expect(await taking.take(2)).toEqual(['t0', 't2']);
    await send(0, question('a'));
    expect(await taking.take(1)).toEqual(['a']);
  });

  test('is read from its beginning when it was deleted and created again, with a notice', async () => {
    const again = async () => {
      await admin.deleteTopics({ topics: [topic] });
      const topics = [{ topic, numPartitions: 1 }];
      while (!(await admin.createTopics({ topics, waitForLeaders: true }).catch(() => false)));
    };
    await send(0, question('a'), question('b'), question('c'));
    const taking = reading();
    expect(await taking.take(3)).toEqual(['a', 'b', 'c']);
    await taking.stop();
    await again();
    await send(0, question('d'), question('e'));
    expect(await taking.take(3)).toEqual(['0:3', 'd', 'e']);
    await again();
    await send(0, question('f'));
    expect(await taking.take(2)).toEqual(['0:2', 'f']);
  });

  test('is refused if it does not exist', async () => {
    const none = new Taking(() => kafkaQuestions(`${kafkaUrl}/${topic}-none`));
    await expect(none.take(1)).rejects.toThrow(`no topic ${topic}-none`);
  });

  const logs = { 'the embedded log': false, Kafka: true };
  test.each(Object.entries(logs))(
    'is asked exactly once into %s while our process is killed three times',
    async (_, onKafka) => {
      const folder = temporaryFolder();
      const run = freshRun();
      const at = onKafka ? kafkaUrl : join(folder.path, 'log');
      const start = () => startChild(child, at, run, `${kafkaUrl}/${topic}`, '298');
      let process = start();
      try {
        const feed = (async () => {
          for (let i = 0; i < 300; i++) {
            const bad = i % 7 === 0 ? ['broken'] : [];
            const twice = i % 5 === 0 ? [question(`q${i}`)] : [];
            await send(i % 2, ...bad, question(`q${i}`), ...twice);
            if (i % 20 === 0) await new Promise((done) => setTimeout(done, 20));
          }
        })();
        for (const tens of [2, 1, 3]) {
          for (let i = 0; i < tens; i++) await process.line();
          await process.kill();
          process = start();
        }
        while ((await process.line()) !== 'done');
        await feed;
      } finally {
        await process.kill();
      }
      const log = await openAnyLog({ topics: allTopics, at, run, mode: 'read' });
      const earliest = { from: { kind: 'earliest' } } as const;
      const asked: string[] = [];
      for await (const { value } of recordsOf(log, topics.questions, earliest)) {
        if (value.phase !== 'evaluate' || value.round === 0) asked.push(value.id);
      }
      const letters: string[] = [];
      for await (const { value } of recordsOf(log, topics.deadLetters, earliest)) {
        letters.push(`${value.origin}:${value.place}`);
      }
      await log.close();
      folder.remove();
      const ids = Array.from({ length: 300 }, (_, i) => `q${i}`);
      expect(asked.sort()).toEqual(ids.sort());
      expect(new Set(letters).size).toBe(letters.length);
      expect(letters.length).toBeGreaterThanOrEqual(41);
      expect(letters.length).toBeLessThanOrEqual(43);
    },
  );
});

/** A frame of zstd with one block, as it is. */
function zstdFrame(bytes: Buffer): Buffer {
  const head = Buffer.from('28b52ffda000000000000000', 'hex');
  head.writeUInt32LE(bytes.length, 5);
  head.writeUIntLE((bytes.length << 3) | 1, 9, 3);
  return Buffer.concat([head, bytes]);
}
