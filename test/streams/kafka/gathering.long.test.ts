/** Groups that are open when their partition goes to another process: they are gathered there, once. */
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { openKafkaLog } from '../../../streams/kafka/openKafkaLog.ts';
import type { Log } from '../../../streams/log.ts';
import { allTopics, topics } from '../../../topics/index.ts';
import { type Child, startChild } from '../../support/child.ts';
import { describeKafka, freshRun, kafkaUrl } from '../../support/kafka.ts';
import { question } from '../../support/records.ts';
import { until } from '../../support/until.ts';

const file = fileURLToPath(new URL('./children/gatherer.ts', import.meta.url));
const GROUPS = 300;

describeKafka('open groups of a partition that moves', () => {
  const run = freshRun();
  const url = `${kafkaUrl}?partitions=4`;
  const children: Child[] = [];
  let log: Log;

  const start = async (worker: string): Promise<Child> => {
    const child = startChild(file, url, run, worker);
    children.push(child);
    await child.line();
    void listen(worker, child).catch(() => undefined);
    return child;
  };
  /** How many records wait in the open groups of each worker. */
  const waiting = new Map<string, number>();
  const listen = async (worker: string, child: Child): Promise<void> => {
    for (;;) waiting.set(worker, Number(await child.line()));
  };
  const areWaiting = (count: number, worker = 'a'): Promise<true> =>
    until(
      () =>
        (waiting.get(worker) ?? 0) > 0 &&
        [...waiting.values()].reduce((sum, of) => sum + of, 0) === count,
    );
  /** One member of every group. */
  const wave = (): Promise<void> =>
    log.commit((tx) => {
      for (let i = 0; i < GROUPS; i++) tx.append(topics.questions, question({ id: `q${i}` }));
    });

  afterAll(async () => {
    for (const child of children) await child.kill();
    await log?.close();
  });

  test('are gathered by the other worker, complete and once, even if the partition comes back', async () => {
    log = await openKafkaLog({ topics: allTopics, url, run, mode: 'write', worker: 'test' });
    await wave();
    await start('a');
    await areWaiting(GROUPS);
    const b = await start('b'); // half of the open groups move to it
    await areWaiting(GROUPS, 'b');
    await wave();
    await areWaiting(2 * GROUPS, 'b');
    await b.kill(); // and back again
    await wave();
    await until(async () => (await log.lag(topics.questions, 'gather')) === 0);
    const records$ = log.tap(topics.metrics, { from: { kind: 'earliest' }, follow: false });
    const made = (await lastValueFrom(records$.pipe(toArray()))).map(({ value }) => value);
    expect(made.map(({ name }) => name).sort()).toEqual(
      Array.from({ length: GROUPS }, (_, i) => `q${i}`).sort(),
    );
    expect(made.every(({ value }) => value === 3)).toBe(true);
  });
});
