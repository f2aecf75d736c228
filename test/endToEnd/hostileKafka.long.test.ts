/** What may happen to a run on Kafka: its broker goes away, and it is started a second time. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Admin } from '@platformatic/kafka';
import { type Broker, freePort, startBroker } from '../../scripts/kafka/broker.ts';
import { openKafkaLog } from '../../streams/kafka/openKafkaLog.ts';
import { allTopics } from '../../topics/index.ts';
import { type Command, millrace } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';
import { describeKafka } from '../support/kafka.ts';
import { until } from '../support/until.ts';

const JOB = 'bench/scale/job.ts';
/** A first start gives up after 15 seconds. */
const OUTAGE_MS = 17_000;
const resting = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describeKafka('a run on Kafka', () => {
  const folder = temporaryFolder();
  const commands: Command[] = [];
  let port: number;
  let broker: Broker;

  const start = (): Promise<Broker> => startBroker({ folder: join(folder.path, 'kafka'), port });
  const address = (): string => `kafka://127.0.0.1:${port}`;
  const run = (name: string, ...args: readonly string[]): Command => {
    const command = millrace('run', JOB, '--run', name, '--runs', folder.path, ...args);
    commands.push(command);
    return command;
  };
  const rolloutsOf = async (name: string): Promise<number> => {
    const log = await openKafkaLog({
      topics: allTopics,
      url: address(),
      run: name,
      mode: 'read',
    }).catch(() => null);
    const stats = await log?.stats();
    await log?.close();
    return stats?.find(({ topic }) => topic === 'rollouts')?.records ?? 0;
  };

  beforeAll(async () => {
    port = await freePort();
    broker = await start();
  });
  afterAll(async () => {
    for (const { process: child } of commands) child.kill('SIGKILL');
    await broker?.kill();
    folder.remove();
  });

  test('waits while its broker is stopped, and loses nothing', async () => {
    const settings = ['--set', 'questions=60', '--set', 'serviceMs=300', '--set', 'concurrency=2'];
    const command = run('outage', '--log', address(), ...settings);
    await until(async () => (await rolloutsOf('outage')) >= 16);
    await broker.stop();
    await resting(OUTAGE_MS);
    expect(command.process.exitCode).toBeNull();
    broker = await start();
    expect(await command.code).toBe(0);
    expect(command.said).toMatch(/does not answer; waiting for it/);
    expect(command.said).toMatch(/answers again/);
    expect(await rolloutsOf('outage')).toBe(240);
  });

  test('waits longer for its broker when resumed than at a first start', async () => {
    const settings = ['--set', 'questions=20', '--set', 'serviceMs=300', '--set', 'concurrency=2'];
    const first = run('late', '--log', address(), ...settings);
    await until(async () => (await rolloutsOf('late')) >= 8);
    first.process.kill('SIGKILL');
    await first.code;
    await broker.stop();
    const again = run('late');
    await until(() => /does not answer; waiting for it/.test(again.said));
    await resting(OUTAGE_MS);
    expect(again.process.exitCode).toBeNull();
    broker = await start();
    expect(await again.code).toBe(0);
    expect(await rolloutsOf('late')).toBe(80);
  });

  test('ends when a topic of it is deleted', async () => {
    const settings = ['--set', 'questions=60', '--set', 'serviceMs=500'];
    const command = run('gone', '--log', address(), ...settings);
    await until(async () => (await rolloutsOf('gone')) >= 4);
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: [`127.0.0.1:${port}`] });
    await admin.deleteTopics({ topics: ['gone.rollouts'] });
    await admin.close();
    expect(await command.code).toBe(1);
    expect(command.said).toMatch(/gone\.rollouts is no longer on the broker at .*deleted while/);
  });

  test('refuses a second start while the first is alive, and not after it was killed', async () => {
    const settings = ['--set', 'questions=12', '--set', 'serviceMs=2000'];
    const first = run('twice', '--log', address(), '--set', 'concurrency=1', ...settings);
    await until(async () => (await rolloutsOf('twice')) >= 4);
    const same = run('twice');
    const leader = run('twice', '--except', 'rollout', '--worker', 'other');
    expect(await same.code).toBe(1);
    expect(same.said).toMatch(
      /LOCKED.*process \d+ on host \S+ is already running twice as worker "main"/,
    );
    expect(await leader.code).toBe(1);
    expect(leader.said).toMatch(
      /LOCKED.*is already running twice with its sources? base, questions/,
    );
    expect(first.process.exitCode).toBeNull();
    first.process.kill('SIGKILL');
    await first.code;
    const again = run('twice');
    await until(async () => (await rolloutsOf('twice')) >= 12);
    expect(again.process.exitCode).toBeNull();
    again.process.kill('SIGKILL');
    await again.code;
  });
});
