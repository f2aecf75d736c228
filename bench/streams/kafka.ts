/**
 * Consume, transform, produce, exactly once, on one broker: our stage over the Kafka log, bare kafkajs with
 * one transaction a fetched batch, and a Kafka Streams topology. One partition in and out; the time is that
 * from the first record handed to the transform to the last commit, so that joining a group and starting a
 * virtual machine count for neither.
 */
import { Kafka, logLevel } from 'kafkajs';
import { flow } from '../../streams/flow.ts';
import { openKafkaLog } from '../../streams/kafka/openKafkaLog.ts';
import { mapEach } from '../../streams/primitives.ts';
import { runFlow } from '../../streams/run/runFlow.ts';
import { stage } from '../../streams/stage.ts';
import { allTopics } from '../../topics/index.ts';
import { median, type Row, type Unmeasured } from '../table.ts';
import { throughKafkaStreams } from './kafkaStreams.ts';
import { type Payload, payloads, payloadTopic, type Size, sizes } from './payload.ts';

const KAFKAJS_GOAL = 0.85;
const STREAMS_GOAL = 1;
/** Of ours and of kafkajs, one after the other: the first of each is spent on compiling. */
const TURNS = 5;
const APPEND = 250;
/** A broker takes no batch above a megabyte. */
const BATCH_BYTES = 800_000;

export async function kafkaRows(
  address: string | null,
  folder: string,
): Promise<(Row | Unmeasured)[]> {
  const rows: (Row | Unmeasured)[] = [];
  for (const size of sizes) {
    const what = `consume, transform, produce, ${size.name}`;
    if (address === null) {
      const reason = 'MILLRACE_KAFKA (host:port) is not set; npm run kafka starts a broker';
      rows.push({ what, against: 'bare kafkajs', reason });
      rows.push({ what, against: 'Kafka Streams, exactly_once_v2', reason });
      continue;
    }
    rows.push(...(await ofSize(what, address, size, folder)));
  }
  return rows;
}

async function ofSize(
  what: string,
  address: string,
  size: Size,
  folder: string,
): Promise<(Row | Unmeasured)[]> {
  const name = (turn: number): string => `bench-${process.pid}-${size.bytes}-${turn}`;
  const perSecond = (ms: number): number => (1000 * size.records) / ms;
  const [ours, kafkajs]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < TURNS; turn++) {
    ours.push(perSecond(await throughStage(address, name(turn), size)));
    await fill(address, name(turn), size);
    kafkajs.push(perSecond(await throughKafkajs(address, name(turn), size)));
  }
  const row = (against: string, goal: number | null, our: number, theirs: number): Row => ({
    what,
    against,
    ratio: our / theirs,
    goal,
    unit: 'records/s',
    ours: our,
    theirs,
  });
  const first = name(0);
  const streams = await throughKafkaStreams(address, `${first}-in`, `${first}-java`, size, folder);
  const against = 'Kafka Streams, exactly_once_v2';
  return [
    row('bare kafkajs', KAFKAJS_GOAL, median(ours), median(kafkajs)),
    typeof streams === 'number'
      ? // Trajectories are what a stage is made for; the small ones are there to be seen.
        // A virtual machine starts cold, so our cold turn is next to it.
        row(against, size.bytes > 10_000 ? STREAMS_GOAL : null, ours[0]!, perSecond(streams))
      : { what, against, reason: streams.reason },
  ];
}

const changed = ({ id, body }: Payload): Payload => {
  const other = body.slice();
  other[0]! ^= 1;
  return { id, body: other };
};

/** Milliseconds. */
async function throughStage(address: string, run: string, size: Size): Promise<number> {
  const [from, to] = [payloadTopic('from'), payloadTopic('to')];
  const log = await openKafkaLog({
    topics: allTopics,
    url: `kafka://${address}`,
    run,
    mode: 'write',
  });
  try {
    const records = payloads(size);
    for (let at = 0; at < records.length; at += APPEND) {
      await log.commit((tx) => {
        for (const record of records.slice(at, at + APPEND)) tx.append(from, record);
      });
    }
    let firstMs = 0;
    let lastMs = 0;
    const timed = Object.create(log, {
      commit: {
        value: async (write: Parameters<typeof log.commit>[0]): Promise<void> => {
          await log.commit(write);
          lastMs = performance.now();
        },
      },
    }) as typeof log;
    const bound = new Proxy(timed, {
      get: (target, key) => {
        if (key === 'commit') return target.commit;
        const value = Reflect.get(log, key, log) as unknown;
        return typeof value === 'function' ? value.bind(log) : value;
      },
    });
    const transform = mapEach(
      (record: Payload) => {
        if (firstMs === 0) firstMs = performance.now();
        return changed(record);
      },
      { concurrency: 1, onError: 'fail' },
    );
    const copy = stage('copy', from, to, transform, { inflightMax: 2_048 });
    await runFlow(flow(copy), { log: bound });
    return lastMs - firstMs;
  } finally {
    await log.close();
  }
}

const client = (address: string): Kafka =>
  new Kafka({ clientId: 'bench', brokers: [address], logLevel: logLevel.NOTHING });

/**
 * The same bytes, encoded, in `<name>-in`; `<name>-out` and `<name>-java` are there and tell when the broker
 * got it.
 */
async function fill(address: string, name: string, size: Size): Promise<void> {
  const kafka = client(address);
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({
    waitForLeaders: true,
    topics: ['in', 'out', 'java'].map((which) => ({
      topic: `${name}-${which}`,
      numPartitions: 1,
      replicationFactor: 1,
      configEntries: [{ name: 'message.timestamp.type', value: 'LogAppendTime' }],
    })),
  });
  await admin.disconnect();
  const { codec } = payloadTopic('from');
  const messages = payloads(size).map((record) => ({
    key: record.id,
    value: codec.encode(record),
  }));
  const producer = kafka.producer();
  await producer.connect();
  const atOnce = Math.floor(BATCH_BYTES / size.bytes);
  for (let at = 0; at < messages.length; at += atOnce) {
    await producer.send({ topic: `${name}-in`, messages: messages.slice(at, at + atOnce) });
  }
  await producer.disconnect();
}

/** Milliseconds: one transaction a fetched batch, as kafkajs's own documentation has it. */
async function throughKafkajs(address: string, name: string, size: Size): Promise<number> {
  const kafka = client(address);
  const group = `${name}-bare`;
  const consumer = kafka.consumer({ groupId: group });
  const producer = kafka.producer({
    transactionalId: group,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  await consumer.connect();
  await consumer.subscribe({ topics: [`${name}-in`], fromBeginning: true });
  let firstMs = 0;
  let done = 0;
  const lastMs = await new Promise<number>((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
    void consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      async eachBatch({ batch }) {
        if (firstMs === 0) firstMs = performance.now();
        const messages = batch.messages.map(({ key, value }) => {
          const other = Buffer.from(value!);
          other[other.length - 1]! ^= 1;
          return { key, value: other };
        });
        const next = String(Number(batch.messages.at(-1)!.offset) + 1);
        const tx = await producer.transaction();
        await tx.send({ topic: `${name}-out`, messages });
        await again(() =>
          tx.sendOffsets({
            consumerGroupId: group,
            topics: [
              { topic: batch.topic, partitions: [{ partition: batch.partition, offset: next }] },
            ],
          }),
        );
        await tx.commit();
        done += messages.length;
        if (done >= size.records) resolve(performance.now());
      },
    });
  });
  await consumer.disconnect();
  await producer.disconnect();
  return lastMs - firstMs;
}

/** What kafkajs does not try again: the transaction before is still being closed. */
async function again(work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if ((error as { type?: string }).type !== 'CONCURRENT_TRANSACTIONS') throw error;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}
