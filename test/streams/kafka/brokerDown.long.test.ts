/** A broker of the test's own, killed and stopped while a log writes and reads. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { type Broker, freePort, startBroker } from '../../../scripts/kafka/broker.ts';
import { openKafkaLog } from '../../../streams/kafka/openKafkaLog.ts';
import type { Log } from '../../../streams/log.ts';
import { allTopics, topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { describeKafka } from '../../support/kafka.ts';
import { metric, question, toolCall } from '../../support/records.ts';
import { until } from '../../support/until.ts';

describeKafka('a broker that goes away and comes back', () => {
  const folder = temporaryFolder();
  const notices: string[] = [];
  let port: number;
  let broker: Broker;
  let log: Log;

  const start = (): Promise<Broker> => startBroker({ folder: join(folder.path, 'kafka'), port });
  const values = async (): Promise<readonly number[]> => {
    const records$ = log.tap(topics.metrics, { from: { kind: 'earliest' }, follow: false });
    return (await lastValueFrom(records$.pipe(toArray()))).map(({ value }) => value.value);
  };

  beforeAll(async () => {
    port = await freePort();
    broker = await start();
    const notice = (line: string): void => void notices.push(line);
    const url = `kafka://127.0.0.1:${port}`;
    log = await openKafkaLog({ topics: allTopics, url, run: 'down', mode: 'write', notice });
  });
  afterAll(async () => {
    await log?.close();
    await broker?.kill();
    folder.remove();
  });

  test('is waited for: every commit is made once, whenever it was killed', async () => {
    const total = 400;
    let made = 0;
    const working = (async () => {
      for (let i = 0; i < total; i++) {
        await log.commit((tx) => tx.append(topics.metrics, metric({ value: i })));
        made += 1;
      }
    })();
    for (const at of [40, 150, 260]) {
      await until(() => made >= at);
      await broker.kill();
      if (at === 260) await new Promise((resolve) => setTimeout(resolve, 4000));
      broker = await start();
    }
    await working;
    expect(await values()).toEqual(Array.from({ length: total }, (_, i) => i));
    expect(notices.some((line) => /does not answer/.test(line))).toBe(true);
    expect(notices.some((line) => /answers again/.test(line))).toBe(true);
  });

  test('is waited for in the middle of archiving', async () => {
    const total = 200;
    for (let i = 0; i < total; i += 5) {
      await log.commit((tx) => {
        for (let j = i; j < i + 5; j++) tx.append(topics.toolCalls, toolCall({ turn: j }));
      });
    }
    const archive = join(folder.path, 'archive');
    const archiving = log.retain!({ bytesMax: 0, segmentRecords: 8, archive });
    const files = join(archive, 'tool-calls-0');
    const archived = (): number => (existsSync(files) ? readdirSync(files).length : 0);
    await until(() => archived() >= 3);
    await broker.kill();
    broker = await start();
    expect((await archiving).segments).toBeGreaterThan(20);
    const records$ = log.tap(topics.toolCalls, { from: { kind: 'earliest' }, follow: false });
    const turns = (await lastValueFrom(records$.pipe(toArray()))).map(({ value }) => value.turn);
    expect(turns).toEqual(Array.from({ length: total }, (_, i) => i));
    expect(await log.lost!()).toEqual([]);
  });

  test('leaves readers where they were', async () => {
    const seen: string[] = [];
    const settling: Promise<void>[] = [];
    await log.commit((tx) => {
      for (let i = 0; i < 200; i++) tx.append(topics.questions, question({ id: `q${i}` }));
    });
    const reading = log
      .read(topics.questions, { group: 'g', inflightMax: 7 })
      .subscribe((delivery) => {
        seen.push(delivery.value.id);
        const derived = delivery.also(topics.deadLetters, {
          origin: 'test',
          place: 0,
          key: delivery.key,
          field: '',
          reason: '',
          payload: '',
        });
        settling.push(log.commit((tx) => tx.settle(derived)));
      });
    await until(() => seen.length >= 60);
    await broker.stop();
    broker = await start();
    await until(async () => (await log.lag(topics.questions, 'g')) === 0);
    await Promise.all(settling);
    reading.unsubscribe();
    const buried$ = log.tap(topics.deadLetters, { from: { kind: 'earliest' }, follow: false });
    const keys = (await lastValueFrom(buried$.pipe(toArray()))).map(({ key }) => key);
    expect([...keys].sort()).toEqual(Array.from({ length: 200 }, (_, i) => `q${i}`).sort());
  });
});
