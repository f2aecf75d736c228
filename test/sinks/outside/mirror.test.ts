/**
 * A mirror before a cluster that is not done with its last transaction, which one broker alone cannot be made
 * to show.
 */
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Kafka, ProducerConfig } from 'kafkajs';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import { mirror } from '../../../sinks/outside/mirror.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import type { Topic } from '../../../streams/topic.ts';
import { topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { metric } from '../../support/records.ts';

/**
 * It has committed offset 2 in a transaction whose end is still being written: until another may begin,
 * readers of offsets see 0.
 */
class BusyCluster {
  readonly sent: string[] = [];
  readonly producers: ProducerConfig[] = [];
  #decided = false;
  /** So many transactions are refused at first. */
  #busy = 3;

  get kafka(): Kafka {
    const nothing = async (): Promise<void> => undefined;
    const admin = {
      ...{ connect: nothing, disconnect: nothing },
      listTopics: async () => ['out.metrics'],
      // As kafkajs answers while it does not know the partitions of a topic that it is asked about.
      fetchOffsets: async ({ topics: named }: { topics?: readonly string[] }) => [
        {
          topic: 'out.metrics',
          partitions:
            named === undefined ? [{ partition: 0, offset: this.#decided ? '2' : '0' }] : [],
        },
      ],
    };
    const producer = {
      ...{ connect: nothing, disconnect: nothing },
      transaction: async () => {
        this.#decided = true;
        return this.#transaction();
      },
    };
    return {
      admin: () => admin,
      producer: (config: ProducerConfig) => {
        this.producers.push(config);
        return producer;
      },
    } as unknown as Kafka;
  }

  #transaction() {
    let steps: string[] = [];
    return {
      sendBatch: async ({
        topicMessages,
      }: {
        topicMessages: readonly { messages: readonly { value: Buffer }[] }[];
      }) => {
        this.#busy -= 1;
        if (this.#busy >= 0) {
          throw Object.assign(new Error('busy'), { type: 'CONCURRENT_TRANSACTIONS' });
        }
        steps = topicMessages.flatMap(({ messages }) => messages.map(({ value }) => String(value)));
      },
      sendOffsets: async () => undefined,
      commit: async () => void this.sent.push(...steps),
      abort: async () => undefined,
    };
  }
}

test('a mirror resumes after a transaction whose end was unknown, and waits while it is being written', async () => {
  const folder = temporaryFolder();
  const log = await openLog({ folder: join(folder.path, 'log'), mode: 'write' });
  await log.commit((tx) => {
    for (let step = 0; step < 4; step++) tx.append(topics.metrics, metric({ step }));
  });
  const cluster = new BusyCluster();
  const notices: string[] = [];
  await mirror({
    ...{ log, id: 'm', partitions: 1, replication: -1, compression: 0, follow: false },
    topics: [topics.metrics as Topic<unknown>],
    kafka: cluster.kafka,
    nameOf: (topic) => `out.${topic}`,
    encode: (_, value) => Buffer.from(String((value as { step: number }).step)),
    signal: new AbortController().signal,
    clock: sleepClock(systemClock),
    written: () => undefined,
    notice: (line) => void notices.push(line),
  });
  expect(cluster.sent).toEqual(['2', '3']);
  expect(notices).toEqual([]);
  // kafkajs tries again without the partitions that have moved to a broker which had answered.
  expect(cluster.producers.map(({ retry }) => retry?.retries)).toEqual([0]);
  await log.close();
  folder.remove();
});
