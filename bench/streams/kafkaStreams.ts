/**
 * The same through Kafka Streams (Java): KafkaStreams.java is run from its source by the JDK, with the jars
 * of the broker and two more from Maven Central.
 */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Kafka, logLevel } from 'kafkajs';
import { javaMissing } from '../../scripts/kafka/broker.ts';
import { kafkaJars } from '../../scripts/kafka/jars.ts';
import type { Size } from './payload.ts';

const source = fileURLToPath(new URL('KafkaStreams.java', import.meta.url));
/** Path in a Maven repository to SHA-256. */
const jars: Readonly<Record<string, string>> = {
  'org/apache/kafka/kafka-streams/4.2.1/kafka-streams-4.2.1.jar':
    '1ae087197b4a65d40f3e526a88a14003a8ac2e24e1edb6d6cfe897da0781c60b',
};
const LIMIT_MS = 180_000;

/** Milliseconds from the first record that the broker got to the last, or why there is no number. */
export async function throughKafkaStreams(
  address: string,
  from: string,
  to: string,
  size: Size,
  folder: string,
): Promise<number | { readonly reason: string }> {
  const missing = javaMissing() ?? compilerMissing();
  if (missing !== null) return { reason: missing };
  let path: string;
  try {
    path = await kafkaJars(() => undefined, jars);
  } catch (error) {
    return { reason: (error as Error).message };
  }
  const given = [address, `${from}-app`, from, to, String(size.records), join(folder, 'state')];
  const end = await run('java', [
    ...['-Xmx512m', '-Dorg.slf4j.simpleLogger.defaultLogLevel=error'],
    ...['-cp', `${path}/*`, source, ...given],
  ]);
  if (end !== null) return { reason: end };
  return spanMs(address, to, size.records);
}

function compilerMissing(): string | null {
  const found = spawnSync('javac', ['-version'], { encoding: 'utf8' });
  return found.error === undefined ? null : 'there is no JDK (javac), only a runtime';
}

/** Null when it ended well; else the end of what it said. */
function run(command: string, given: readonly string[]): Promise<string | null> {
  const child = spawn(command, given, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      resolve(code === 0 ? null : `java ended with ${code ?? signal}: ${said.trim().slice(-300)}`);
    });
  });
}

/** Between the times at which the broker got the first and the last record. */
async function spanMs(address: string, topic: string, records: number): Promise<number> {
  const kafka = new Kafka({ clientId: 'bench', brokers: [address], logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: `${topic}-span` });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  const times: number[] = [];
  await new Promise<void>((resolve) => {
    void consumer.run({
      autoCommit: false,
      eachMessage: async ({ message }) => {
        times.push(Number(message.timestamp));
        if (times.length === records) resolve();
      },
    });
  });
  await consumer.disconnect();
  return Math.max(...[times.at(-1)!, 1]) - times[0]!;
}
