/**
 * Mirrors are read by kcat, which shares no code with us: each record once, in order, whatever was killed.
 */
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { main } from '../../../cli/program.ts';
import { writeRunRecord } from '../../../cli/runRecord.ts';
import { logFolder } from '../../../cli/runs.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { unseal } from '../../../streams/foreign/wireFormat.ts';
import type { Log } from '../../../streams/log.ts';
import { topics } from '../../../topics/index.ts';
import { builtMillrace } from '../../support/commandLine.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { describeKafka, freshRun } from '../../support/kafka.ts';
import { metric, rollout } from '../../support/records.ts';
import { startRegistry } from '../../support/registryServer.ts';
import { until } from '../../support/until.ts';
import { fakeIo } from '../support/fakeIo.ts';
import { record } from '../support/syntheticRun.ts';

const broker = process.env.MILLRACE_KAFKA ?? '';
const folder = temporaryFolder();
afterAll(() => folder.remove());

const kcat = ['/usr/bin/kcat', '/usr/local/bin/kcat'].find((path) => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
});
const kafka = new Kafka({ brokers: [broker], logLevel: logLevel.NOTHING });

interface Message {
  readonly key: string;
  readonly payload: string;
  readonly ts: number;
  readonly headers: readonly string[];
}

/** What of a topic can be read by who reads committed records only. */
async function read(topic: string): Promise<readonly Message[]> {
  const args = ['-C', '-b', broker, '-t', topic, '-o', 'beginning', '-e', '-q', '-J'];
  const { stdout } = await promisify(execFile)(
    kcat!,
    [...args, '-X', 'isolation.level=read_committed'],
    { maxBuffer: 2 ** 28 },
  );
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
}

describeKafka('millrace mirror', () => {
  const suite = kcat === undefined ? describe.skip : describe;
  suite(kcat === undefined ? 'needs kcat' : 'read by kcat', () => {
    let run: string;
    let log: Log;
    beforeEach(async () => {
      run = freshRun();
      const at = join(folder.path, run);
      await mkdir(at, { recursive: true });
      await writeRunRecord(at, { ...record, status: 'running' });
      log = await openLog({ folder: logFolder(at), mode: 'write', clock: { now: () => 7000 } });
    });
    afterEach(() => log.close());

    let appended = 0;
    const append = async (count: number): Promise<void> => {
      await log.commit((tx) => {
        for (let i = 0; i < count; i++) tx.append(topics.metrics, metric({ step: appended++ }));
      });
    };
    const address = (query = ''): string => `kafka://${broker}/out.${run}${query}`;
    const mirror = async (...args: readonly string[]) => {
      const io = fakeIo(folder.path);
      const code = await main(['mirror', run, ...args, '--runs', folder.path, '--once'], io);
      return { code, err: io.stderr().join('\n') };
    };

    test('writes JSON with the key and time of each record, and goes on where it stopped', async () => {
      appended = 0;
      await append(3);
      await log.commit((tx) =>
        tx.append(topics.rollouts, rollout({ tokens: Int32Array.of(1, 2), text: 'a\u0000b' })),
      );
      expect(await mirror(address())).toMatchObject({
        code: 0,
        err: expect.stringMatching(/\nmirrored 4 records$/),
      });
      const [trajectory] = await read(`out.${run}.rollouts`);
      expect(trajectory).toMatchObject({ key: 'q1', ts: 7000, headers: ['position', '0/0'] });
      expect(JSON.parse(trajectory!.payload)).toMatchObject({ tokens: [1, 2], text: 'a\u0000b' });
      await append(2);
      expect((await mirror(address())).err).toMatch(/\nmirrored 2 records$/);
      expect((await mirror(address())).err).toMatch(/\nmirrored 0 records$/);
      const metrics = await read(`out.${run}.metrics`);
      expect(metrics.map(({ payload }) => JSON.parse(payload).step)).toEqual([0, 1, 2, 3, 4]);
    });

    test('writes each record once, however often it is killed', async () => {
      appended = 0;
      const admin = kafka.admin();
      await admin.connect();
      const written = async (): Promise<number> => {
        const offsets = await admin.fetchTopicOffsets(`out.${run}.metrics`).catch(() => []);
        return Number(offsets[0]?.high ?? 0);
      };
      for (const more of [1, 800]) {
        await append(3000);
        const before = await written();
        const child = builtMillrace(folder.path, 'mirror', run, address(), '--runs', '.');
        await until(async () => {
          expect(child.process.exitCode).toBeNull();
          return (await written()) >= before + more;
        });
        child.process.kill('SIGKILL');
        await child.code;
      }
      await admin.disconnect();
      await append(10);
      expect((await mirror(address())).code).toBe(0);
      const metrics = await read(`out.${run}.metrics`);
      const steps = metrics.map(({ payload }) => JSON.parse(payload).step);
      expect(steps).toEqual(Array.from({ length: appended }, (_, i) => i));
    });

    test('follows a run until it is interrupted', async () => {
      appended = 0;
      const io = fakeIo(folder.path);
      const following = main(['mirror', run, address(), '--runs', folder.path], io);
      await append(1);
      while ((await read(`out.${run}.metrics`).catch(() => [])).length < 1) await append(1);
      io.interrupt();
      expect(await following).toBe(0);
      expect((await mirror(address())).code).toBe(0);
      expect(await read(`out.${run}.metrics`)).toHaveLength(appended);
    });

    test('writes Avro in the wire format with a registry, under the subjects of its topics', async () => {
      appended = 0;
      const registry = await startRegistry();
      try {
        await append(2);
        expect((await mirror(address(`?registry=${registry.url}`))).code).toBe(0);
        expect(registry.schemas.map(({ subject }) => subject)).toEqual([
          `out.${run}.metrics-value`,
        ]);
        const consumer = kafka.consumer({ groupId: `${run}-reader` });
        await consumer.connect();
        await consumer.subscribe({ topic: `out.${run}.metrics`, fromBeginning: true });
        const values: Buffer[] = [];
        await new Promise<void>((resolve) => {
          void consumer.run({
            eachMessage: async ({ message }) => {
              values.push(message.value!);
              if (values.length === 2) resolve();
            },
          });
        });
        await consumer.disconnect();
        const bodies = values.map((value) => unseal(value)!);
        expect(bodies.map(({ id }) => id)).toEqual([1, 1]);
        const schema = JSON.parse(registry.schemas[0]!.schema);
        const decode = topics.metrics.codec.reading(schema);
        expect(bodies.map(({ body }) => decode(body).step)).toEqual([0, 1]);
      } finally {
        await registry.close();
      }
    });

    test('refuses an invalid address', async () => {
      for (const wrong of ['http://x/y', `kafka://${broker}/a b`]) {
        expect((await mirror(wrong)).code).toBe(2);
      }
    });
  });
});
