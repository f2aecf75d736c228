/**
 * Records sent to another system's topic: each at least once under its place, in order, going on where the
 * stage stopped.
 */
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import kafkajs from 'kafkajs';
import { systemClock } from '../../base/clock.ts';
import { sleepClock } from '../../base/sleepClock.ts';
import { foreignSink } from '../../sinks/foreignTopic.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { flow } from '../../streams/flow.ts';
import { foreignTopic } from '../../streams/foreign/foreignTopic.ts';
import { runFlow } from '../../streams/run/runFlow.ts';
import { sink, source } from '../../streams/stage.ts';
import { type Metric, topics } from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { describeKafka, freshRun, kafkaUrl } from '../support/kafka.ts';
import { metric } from '../support/records.ts';

const { Kafka, logLevel } = kafkajs;

/** What a consumer that knows nothing of Millrace reads. */
async function consumed(topic: string, count: number) {
  const brokers = [kafkaUrl.replace('kafka://', '')];
  const kafka = new Kafka({ brokers, clientId: 'reader', logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: topic });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const read: { key: string; value: unknown; position: string }[] = [];
  await new Promise<void>((resolve, reject) => {
    const eachMessage = async ({ message }: kafkajs.EachMessagePayload): Promise<void> => {
      read.push({
        key: String(message.key),
        value: JSON.parse(String(message.value)),
        position: String(message.headers?.['millrace-position']),
      });
      if (read.length >= count) resolve();
    };
    consumer.run({ eachMessage }).catch(reject);
  });
  await consumer.disconnect();
  return read;
}

describeKafka('a topic on another cluster', () => {
  test('gets every record as JSON under its key and position, and the stage resumes where it stopped', async () => {
    const folder = temporaryFolder();
    const log = await openLog({ folder: join(folder.path, 'log'), mode: 'write' });
    const to = foreignTopic(`${kafkaUrl}/${freshRun()}-told`, {});
    const means = { to, run: 'r', clock: sleepClock(systemClock), print: () => undefined };
    const part = (count: number) => {
      const items = Array.from({ length: count }, (_, value) => ({ value: metric({ value }) }));
      const told = foreignSink<Metric>({
        ...means,
        message: ({ name, value }) => ({ name, value }),
      });
      return flow(
        source('metrics', topics.metrics, items),
        sink('tell', topics.metrics, null, told),
      );
    };
    await runFlow(part(3), { log });
    await runFlow(part(5), { log });
    const { name } = metric({});
    expect(await consumed(to.topic, 5)).toEqual(
      [0, 1, 2, 3, 4].map((value) => ({
        key: name,
        value: { name, value },
        position: `metrics/0/${value}`,
      })),
    );
    await log.close();
    folder.remove();
  });

  test('that cannot be reached keeps the stage waiting with a notice, and the run can be stopped', async () => {
    const folder = temporaryFolder();
    const log = await openLog({ folder: join(folder.path, 'log'), mode: 'write' });
    const stop = new AbortController();
    const said: string[] = [];
    const print = (line: string): void => {
      said.push(line);
      stop.abort();
    };
    const clock = sleepClock(systemClock);
    const to = foreignTopic('kafka://127.0.0.1:1/told', {});
    const told = foreignSink<Metric>({ to, run: 'r', clock, print, message: (value) => value });
    const parts = flow(
      source('metrics', topics.metrics, [{ value: metric({}) }]),
      sink('tell', topics.metrics, null, told),
    );
    expect(await runFlow(parts, { log, signal: stop.signal })).toBe('stopped');
    expect(said[0]).toContain('kafka://127.0.0.1:1/told accepts no messages');
    expect(await log.lag(topics.metrics, 'tell')).toBe(1);
    await log.close();
    folder.remove();
  });
});

test('the address of a foreign topic holds no password', () => {
  expect(() => foreignTopic('kafka://me:secret@host/topic', {})).toThrow(
    'MILLRACE_FOREIGN_KAFKA_PASSWORD',
  );
  expect(() => foreignTopic('kafka://host', {})).toThrow('has no topic');
});
