/**
 * Records of a run on Kafka that go to an archive and are deleted on the broker: by us, by someone else, and
 * by a process that is killed.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Admin, Kafka, logLevel } from 'kafkajs';
import { firstValueFrom, lastValueFrom, take, toArray } from 'rxjs';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { copyRun } from '../../../streams/kafka/copyRun.ts';
import { openKafkaLog } from '../../../streams/kafka/openKafkaLog.ts';
import type { Log, Stored } from '../../../streams/log.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { allTopics, type ToolCall, topics } from '../../../topics/index.ts';
import { type Child, startChild } from '../../support/child.ts';
import { freshFolders } from '../../support/folder.ts';
import { describeKafka, freshRun, kafkaUrl } from '../../support/kafka.ts';
import { toolCall } from '../../support/records.ts';
import { until } from '../../support/until.ts';

const EARLIEST = { kind: 'earliest' } as const;
const SEGMENT = 8;
const archiver = fileURLToPath(new URL('./children/archiver.ts', import.meta.url));

describeKafka('an archive of a run on Kafka', () => {
  const fresh = freshFolders();
  const url = `${kafkaUrl}?partitions=2`;
  let run: string;
  let logFolder: string;
  let log: Log;
  let admin: Admin;
  let child: Child | null = null;
  let store: Awaited<ReturnType<typeof objectStore>> | null = null;

  const opened: Log[] = [];
  const open = async (mode: 'read' | 'write'): Promise<Log> => {
    const of = await openKafkaLog({
      topics: allTopics,
      url,
      run,
      mode,
      logFolder,
      clock: manualClock(),
    });
    opened.push(of);
    return of;
  };

  beforeEach(async () => {
    run = freshRun();
    logFolder = join(fresh(), 'log');
    log = await open('write');
    const brokers = [process.env.MILLRACE_KAFKA ?? ''];
    admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
  });
  afterEach(async () => {
    await child?.kill();
    child = null;
    await store?.close();
    store = null;
    await admin.disconnect();
    for (const of of opened.splice(0)) await of.close();
  });

  async function fill(from: number, to: number): Promise<void> {
    for (let i = from; i < to; i += 3) {
      await log.commit((tx) => {
        for (let j = i; j < Math.min(i + 3, to); j++) {
          tx.append(topics.toolCalls, toolCall({ rolloutId: `r${j}` }));
        }
      });
    }
  }

  /**
   * Sets the topic's cleanup policy. A broker answers before it acts on it, so it is asked to delete nothing
   * until it does as it is told.
   */
  async function cleanup(value: 'compact' | 'delete'): Promise<void> {
    const topic = `${run}.tool-calls`;
    const entry = { type: 2, name: topic, configEntries: [{ name: 'cleanup.policy', value }] };
    await admin.alterConfigs({ validateOnly: false, resources: [entry] });
    const partitions = [0, 1].map((partition) => ({ partition, offset: '0' }));
    const deletes = () =>
      admin.deleteTopicRecords({ topic, partitions }).then(
        () => true,
        () => false,
      );
    await until(async () => (await deletes()) === (value === 'delete'));
  }

  const tap = (of: Log = log): Promise<Stored<ToolCall>[]> =>
    lastValueFrom(of.tap(topics.toolCalls, { from: EARLIEST, follow: false }).pipe(toArray()));

  /** In their order by partition and offset, as taps of several partitions may mix those of one time. */
  const inOrder = (records: readonly Stored<ToolCall>[]): readonly Stored<ToolCall>[] =>
    [...records].sort(
      ({ position: a }, { position: b }) => a.partition - b.partition || a.offset - b.offset,
    );

  const begins = async (): Promise<readonly number[]> => {
    const offsets = await admin.fetchTopicOffsets(`${run}.tool-calls`);
    return offsets.sort((a, b) => a.partition - b.partition).map(({ low }) => Number(low));
  };

  /** Each record is in only one place, and all are there. */
  async function isWhole(count: number): Promise<void> {
    const ids = (await tap()).map(({ value }) => value.rolloutId);
    const expected = Array.from({ length: count }, (_, i) => `r${i}`);
    expect(ids.sort()).toEqual(expected.sort());
    expect(await log.lost!()).toEqual([]);
  }

  test('is read from both partitions by earlier readers and by a copy, after the broker has deleted it', async () => {
    await fill(0, 100);
    const all = inOrder(await tap());
    const before = await open('read');
    const following: Stored<ToolCall>[] = [];
    const tapping = log
      .tap(topics.toolCalls, { from: EARLIEST, follow: true })
      .subscribe((stored) => void following.push(stored));
    const { segments } = await log.retain!({ bytesMax: 0, segmentRecords: SEGMENT });
    expect(segments).toBeGreaterThan(4);
    const deleted = await begins();
    expect(deleted.every((low) => low > 2 * SEGMENT)).toBe(true);
    expect(inOrder(await tap(before))).toEqual(all);
    expect(await before.lost!()).toEqual([]);
    expect(inOrder(await tap())).toEqual(all);
    await until(() => following.length >= all.length);
    expect(inOrder(following)).toEqual(all);
    tapping.unsubscribe();

    const folder = fresh();
    await copyRun({ topics: allTopics, url, run, folder, logFolder });
    const copy = await openLog({ folder, mode: 'read' });
    const copied = await tap(copy);
    expect(copied.map(({ value }) => value.rolloutId)).toEqual(
      Array.from({ length: 100 }, (_, i) => `r${i}`),
    );
    await copy.close();
    await log.close();
    log = await open('write');
    await fill(100, 110);
    await isWhole(110);
  });

  test('is distinguished from what someone else has deleted', async () => {
    await fill(0, 100);
    await log.retain!({ bytesMax: 0, segmentRecords: SEGMENT });
    await log.close();
    const [low = 0] = await begins();
    const topic = `${run}.tool-calls`;
    await admin.deleteTopicRecords({
      topic,
      partitions: [{ partition: 0, offset: String(low + 2) }],
    });
    await expect(open('write')).rejects.toMatchObject({
      code: 'TOPIC_GONE',
      message: expect.stringMatching(/of 100 are left, \d+ of them in the archive/),
    });
    const reader = await open('read');
    await expect(tap(reader)).resolves.not.toHaveLength(100);
    const folder = fresh();
    await expect(copyRun({ topics: allTopics, url, run, folder, logFolder })).rejects.toMatchObject(
      {
        code: 'TOPIC_GONE',
      },
    );
  });

  test('has its records deleted later if the broker cannot do it now', async () => {
    await fill(0, 60);
    await cleanup('compact'); // of such a topic no records can be deleted
    const retention = { bytesMax: 0, segmentRecords: SEGMENT };
    await expect(log.retain!(retention)).rejects.toThrow(/polic/i);
    await expect(log.retain!(retention)).rejects.toThrow(/polic/i);
    expect(await begins()).toEqual([0, 0]);
    await isWhole(60);
    await log.close();
    log = await open('write');
    await isWhole(60);
    await cleanup('delete');
    const { segments } = await log.retain!(retention);
    expect(segments).toBeGreaterThan(1);
    expect(Math.min(...(await begins()))).toBeGreaterThan(SEGMENT);
    await isWhole(60);
  });

  test('is complete if its process is killed at any moment', async () => {
    await fill(0, 120);
    await log.close();
    store = await objectStore();
    for (const moment of ['PUT 1', 'GET 2', 'after 2', 'PUT 2']) {
      const reached = store.until(moment);
      child = startChild(archiver, url, run, `${store.url}/bucket`, String(SEGMENT));
      await reached;
      await child.kill();
      store.goOn();
    }
    log = await open('write');
    await isWhole(120);
    const archive = `${store.url}/bucket`;
    await log.retain!({ bytesMax: 0, segmentRecords: SEGMENT, archive });
    const kept = log.read(topics.toolCalls, { group: 'late', inflightMax: 200 });
    const read = await firstValueFrom(kept.pipe(take(120), toArray()));
    expect(new Set(read.map(({ value }) => value.rolloutId)).size).toBe(120);
    await isWhole(120);
    expect(Math.min(...(await begins()))).toBeGreaterThan(4 * SEGMENT);
  });
});

/** An object store that stands still at a request, so that who asks can be killed there. */
async function objectStore(): Promise<{
  readonly url: string;
  /**
   * `PUT 2`: the second PUT from now on has come and is not answered; `after 2`: the second GET was answered.
   */
  until(moment: string): Promise<void>;
  goOn(): void;
  close(): Promise<void>;
}> {
  const objects = new Map<string, Buffer>();
  let [wanted, count] = ['', 0];
  let reached = (): void => undefined;
  const server: Server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { method = '', url = '' } = request;
    const [kind, number] = wanted.split(' ');
    const counts = kind === 'after' ? method === 'GET' : method === kind;
    if (counts) count += 1;
    const isIt = counts && count === Number(number);
    if (isIt && kind !== 'after') {
      wanted = '';
      return reached(); // never answered
    }
    if (method === 'PUT') objects.set(url, Buffer.concat(parts));
    const found = objects.get(url);
    response.writeHead(found === undefined ? 404 : 200).end(method === 'PUT' ? '' : found);
    if (isIt) reached();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    until: (moment) =>
      new Promise((resolve) => {
        [wanted, count] = [moment, 0];
        reached = resolve;
      }),
    goOn: () => {
      wanted = '';
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
