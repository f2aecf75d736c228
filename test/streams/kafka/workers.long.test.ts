/** Several processes on one run: they share its partitions, are killed, taken over and started again. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { openKafkaLog } from '../../../streams/kafka/openKafkaLog.ts';
import type { Log } from '../../../streams/log.ts';
import type { Topic } from '../../../streams/topic.ts';
import { allTopics, topics } from '../../../topics/index.ts';
import { type Child, startChild } from '../../support/child.ts';
import { describeKafka, freshRun, kafkaUrl } from '../../support/kafka.ts';
import { question } from '../../support/records.ts';
import { until } from '../../support/until.ts';

const file = fileURLToPath(new URL('./children/worker.ts', import.meta.url));
/** Appended at a time, while someone who was just started has had no part yet. */
const MORE = 300;

async function all<T>(log: Log, topic: Topic<T>): Promise<readonly T[]> {
  const records$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
  return (await lastValueFrom(records$.pipe(toArray()))).map(({ value }) => value);
}

describeKafka('workers that come, are killed and come again', () => {
  const run = freshRun();
  const url = `${kafkaUrl}?partitions=4`;
  const children: Child[] = [];
  let log: Log;

  const start = async (worker: string): Promise<Child> => {
    const child = startChild(file, url, run, worker);
    children.push(child);
    await child.line();
    return child;
  };
  let asked = 0;
  const ask = (count: number): Promise<unknown> =>
    log.commit((tx) => {
      for (const end = asked + count; asked < end; asked++) {
        tx.append(topics.questions, question({ id: `q${asked}` }));
      }
    });
  const lagAtMost = async (most: number): Promise<void> => {
    await until(async () => (await log.lag(topics.questions, 'work')) <= most);
  };
  const settledBy = async (worker: string): Promise<number> =>
    (await all(log, topics.metrics)).filter(({ name }) => name === worker).length;
  /** There is work until `worker` has done some more of it, however long it takes to join. */
  const hasPart = async (worker: string): Promise<void> => {
    const before = await settledBy(worker);
    do {
      if ((await log.lag(topics.questions, 'work')) < MORE) await ask(MORE);
      await new Promise((resolve) => setTimeout(resolve, 200));
    } while ((await settledBy(worker)) === before);
  };

  beforeAll(async () => {
    log = await openKafkaLog({ topics: allTopics, url, run, mode: 'write', worker: 'test' });
    await ask(4 * MORE);
    const a = await start('a');
    await hasPart('a');
    const b = await start('b');
    await hasPart('b');
    await a.kill();
    await start('c');
    await hasPart('c');
    const again = await start('a');
    await b.kill();
    await hasPart('a');
    await start('b');
    await hasPart('b');
    await ask(MORE);
    await again.kill();
    await lagAtMost(0);
  });
  afterAll(async () => {
    for (const child of children) await child.kill();
    await log?.close();
  });

  test('settle every question once, with all of its outputs', async () => {
    const made = (await all(log, topics.metrics)).map(({ value }) => value);
    const expected = Array.from({ length: asked }, (_, i) => i).flatMap((i) =>
      i % 7 === 0 ? [] : i % 3 === 0 ? [i, i] : [i],
    );
    expect([...made].sort((x, y) => x - y)).toEqual(expected);
    const buried = (await all(log, topics.deadLetters)).map(({ reason }) => reason);
    expect(new Set(buried).size).toBe(buried.length);
    expect(buried).toHaveLength(Math.ceil(asked / 7));
  });

  test('have all taken part', async () => {
    const names = new Set((await all(log, topics.metrics)).map(({ name }) => name));
    expect([...names].sort()).toEqual(['a', 'b', 'c']);
  });
});
