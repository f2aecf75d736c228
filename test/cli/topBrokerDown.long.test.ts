/** `millrace top` while a broker of the test's own is gone. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { writeRunRecord } from '../../cli/runRecord.ts';
import { type Broker, freePort, startBroker } from '../../scripts/kafka/broker.ts';
import { openKafkaLog } from '../../streams/kafka/openKafkaLog.ts';
import { allTopics, topics } from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { describeKafka } from '../support/kafka.ts';
import { metric } from '../support/records.ts';
import { until } from '../support/until.ts';
import { type FakeIo, fakeIo } from './support/fakeIo.ts';
import { record } from './support/syntheticRun.ts';

const [REST_OF_LINE, BELOW] = ['\u001b[K', '\u001b[J'];

describeKafka('top of a run whose broker goes away', () => {
  const folder = temporaryFolder();
  let port: number;
  let broker: Broker;

  const start = (): Promise<Broker> => startBroker({ folder: join(folder.path, 'kafka'), port });
  const watch = (screen: { columns: number; rows: number } | null): FakeIo => ({
    ...fakeIo(folder.path, Date.now()),
    screen: () => screen,
  });
  const top = (io: FakeIo): Promise<number> => main(['top', 'away', '--interval', '100ms'], io);

  beforeAll(async () => {
    port = await freePort();
    broker = await start();
    const url = `kafka://127.0.0.1:${port}`;
    const log = await openKafkaLog({ topics: allTopics, url, run: 'away', mode: 'write' });
    await log.commit((tx) => tx.append(topics.metrics, metric({ name: 'reward/mean', value: 1 })));
    await log.close();
    await mkdir(join(folder.path, 'runs', 'away'), { recursive: true });
    const running = { ...record, log: url, status: 'running' } as const;
    await writeRunRecord(join(folder.path, 'runs', 'away'), running);
  });
  afterAll(async () => {
    await broker.kill();
    folder.remove();
  });

  test('shows that it waits, on a terminal or on stderr, and goes on', async () => {
    const terminal = watch({ columns: 120, rows: 40 });
    const elsewhere = watch(null);
    const watching = [top(terminal), top(elsewhere)];
    // Each begins at the upper left corner and clears what is right of its lines and below them.
    const frames = (): string[] =>
      terminal
        .stdout()
        .replaceAll(REST_OF_LINE, '')
        .replaceAll(BELOW, '')
        .split('\u001b[H')
        .slice(1);
    await until(() => frames().length >= 2 && elsewhere.stdout() !== '');
    await broker.kill();
    const away = /^the broker at 127.0.0.1:\d+ does not answer; waiting for it$/m;
    await until(() => away.test(frames().at(-1)!) && elsewhere.stderr().length > 0);
    const [head, told] = frames().at(-1)!.split('\n');
    expect([head, told]).toEqual([expect.stringMatching(/^away · /), expect.stringMatching(away)]);
    expect(elsewhere.stderr()).toEqual([expect.stringMatching(away)]);
    broker = await start();
    await until(() => !away.test(frames().at(-1)!));
    expect(terminal.stderr()).toEqual([]);
    for (const io of [terminal, elsewhere]) io.interrupt();
    expect(await Promise.all(watching)).toEqual([0, 0]);
  });

  test('ends at Ctrl-C', async () => {
    const io = watch(null);
    const watching = top(io);
    await until(() => io.stdout() !== '');
    await broker.kill();
    await until(() => io.stderr().length !== 0);
    io.interrupt();
    expect(await watching).toBe(0);
    expect(io.exits).toEqual([]);
  });
});
