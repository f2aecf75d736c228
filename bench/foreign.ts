/**
 * A topic that others write: `npm run foreign`.
 *
 * A foreign producer (kafkajs) feeds a topic for some minutes, with bad and repeated records among the good
 * ones. A job that asks these questions is repeatedly killed with SIGKILL, and the broker is killed and
 * restarted. At the end every good question must be in the job's log once, and every bad record among its
 * dead letters once. Exit code 1 if not; the folder is kept. The job's log is a folder, or is on the broker
 * of the foreign topic (`--log same`), or on one of its own (`--log another`), which is killed too.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Option } from 'commander';
import kafkajs from 'kafkajs';
import { type Broker, freePort, startBroker } from '../scripts/kafka/broker.ts';
import { openAnyLog } from '../streams/openAnyLog.ts';
import { recordsOf } from '../streams/recordsOf.ts';
import { type Child, startChild } from '../test/support/child.ts';
import { allTopics, topics } from '../topics/index.ts';
import { benchmark, positive, whole } from './options.ts';
import { folderOnDisk, pause } from './table.ts';

interface Options {
  readonly minutes: number;
  readonly rate: number;
  readonly kills: number;
  readonly brokerKills: number;
  readonly log: 'folder' | 'same' | 'another';
  readonly json: boolean;
}

const {
  minutes,
  rate,
  kills,
  brokerKills,
  log: kept,
  json,
} = benchmark(
  'npm run foreign',
  `Feeds a Kafka topic as a foreign producer would, bad and repeated records among the good, while the job that asks
them and the broker are killed: every good question must be asked once. Exit code 1 when not.`,
)
  .option('--minutes <N>', 'how long the producer feeds', positive, 20)
  .option('--rate <N>', 'questions a second', whole, 20)
  .option('--kills <N>', 'kills of the job', whole, 3)
  .option('--broker-kills <N>', 'kills of the broker', whole, 1)
  .addOption(
    new Option('--log <WHERE>', 'where the job keeps its log')
      .choices(['folder', 'same', 'another'])
      .default('folder'),
  )
  .parse()
  .opts<Options>();

const TOPIC = 'asked-by-others';
const child = fileURLToPath(new URL('../test/sources/endless/children/askAll.ts', import.meta.url));
const size = Math.round(minutes * 60 * rate);
const folder = folderOnDisk('foreign');
const port = await freePort();
const brokerFolder = join(folder, 'broker');
const logFolder = join(folder, 'log');
let broker: Broker = await startBroker({ folder: brokerFolder, port });
const own = { folder: join(folder, 'own'), port: await freePort() };
let ownBroker: Broker | null = kept === 'another' ? await startBroker(own) : null;
const logAt = kept === 'folder' ? logFolder : `kafka://${(ownBroker ?? broker).address}`;
const RUN = 'foreign';
const { Kafka, logLevel } = kafkajs;
const kafka = new Kafka({
  brokers: [broker.address],
  clientId: 'foreign',
  logLevel: logLevel.NOTHING,
});

let fed = false;
let asking: Child | null = null;
let starts = 0;

async function feed(): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: 3 }], waitForLeaders: true });
  await admin.disconnect();
  const producer = kafka.producer();
  await producer.connect();
  const startMs = performance.now();
  for (let i = 0; i < size; i++) {
    const aheadMs = (i * 1000) / rate - (performance.now() - startMs);
    if (aheadMs > 0) await pause(aheadMs);
    const question = JSON.stringify({ id: `q${i}`, question: `${i}?`, answer: String(i) });
    const values = [question];
    if (i % 7 === 0) values.unshift('{"question": broken');
    if (i % 5 === 0) values.push(question);
    for (;;) {
      try {
        await producer.send({
          topic: TOPIC,
          messages: values.map((value) => ({ partition: i % 3, value })),
        });
        break;
      } catch {
        await pause(500);
      }
    }
  }
  await producer.disconnect();
  fed = true;
}

/** Restarts the job until it is done. */
async function ask(): Promise<void> {
  for (;;) {
    starts += 1;
    const now = startChild(child, logAt, RUN, `kafka://${broker.address}/${TOPIC}`, `${size - 2}`);
    asking = now;
    try {
      while ((await now.line()) !== 'done');
      return;
    } catch {
      await now.kill();
      await pause(1000);
    }
  }
}

async function harm(): Promise<void> {
  const all = kills + brokerKills;
  for (let i = 1; i <= all; i++) {
    await pause((minutes * 60_000) / (all + 1));
    if (fed) return;
    if (i % 2 === 0 && i / 2 <= brokerKills) {
      say(`killing the broker, ${i} of ${all}`);
      await broker.kill();
      await pause(3000);
      broker = await startBroker({ folder: brokerFolder, port });
      if (ownBroker !== null) {
        await ownBroker.kill();
        ownBroker = await startBroker(own);
      }
    } else {
      say(`killing the job, ${i} of ${all}`);
      await asking?.kill();
    }
  }
}

function say(line: string): void {
  console.error(line);
}

/** How often each question is in the log. */
async function counted(): Promise<{ asked: Map<string, number>; letters: Map<string, number> }> {
  const log = await openAnyLog({ topics: allTopics, at: logAt, run: RUN, mode: 'read' });
  const asked = new Map<string, number>();
  const letters = new Map<string, number>();
  const add = (to: Map<string, number>, key: string) => to.set(key, (to.get(key) ?? 0) + 1);
  const from = { kind: 'earliest' } as const;
  for await (const { value } of recordsOf(log, topics.questions, { from })) {
    if (value.phase !== 'evaluate' || value.round === 0) add(asked, value.id);
  }
  for await (const { value } of recordsOf(log, topics.deadLetters, { from })) {
    add(letters, `${value.origin}:${value.place}`);
  }
  await log.close();
  return { asked, letters };
}

await Promise.all([feed(), ask(), harm()]);
const { asked, letters } = await counted();
await broker.stop();
await ownBroker?.stop();
const missing = Array.from({ length: size }, (_, i) => `q${i}`).filter((id) => !asked.has(id));
const twice = [...asked, ...letters].filter(([, times]) => times > 1).map(([id]) => id);
// The job may end before the last bad records.
const unread = Math.max(0, Math.ceil(size / 7) - 3 - letters.size);
const result = {
  size,
  starts,
  missing: missing.length,
  twice: twice.length,
  letters: letters.size,
  unread,
};
console.log(json ? JSON.stringify(result) : result);
if (missing.length + twice.length + unread > 0) {
  say(`kept: ${folder}`);
  process.exit(1);
}
rmSync(folder, { recursive: true });
