/**
 * An Apache Kafka broker (KRaft, a single node) on loopback, as a child process.
 *
 * It keeps its data in a folder: restarted there, even after a kill, it has what it had before. Made for
 * development and tests; only this machine can reach it.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { kafkaJars } from './jars.ts';

export interface BrokerOptions {
  readonly folder: string;
  /** For clients; the controller takes any free port. */
  readonly port: number;
  readonly tell?: (line: string) => void;
  /** In addition to the plain listener: `SASL_SSL://127.0.0.1:9094`, with its settings in `properties`. */
  readonly listeners?: readonly string[];
  /** Lines of server.properties, appended to ours. */
  readonly properties?: Readonly<Record<string, string>>;
}

export interface Broker {
  /** `127.0.0.1:<port>` */
  readonly address: string;
  readonly process: ChildProcess;
  /** Stops gracefully. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

/** Any valid id will do for a single-node cluster: 22 characters of Base64. */
const CLUSTER_ID = 'bWlsbHJhY2UtbG9jYWwtMQ';
const START_MAX_MS = 90_000;

/** Null if there is a Java that can run the broker; otherwise what is wrong. */
export function javaMissing(): string | null {
  const found = spawnSync(java(), ['-version'], { encoding: 'utf8' });
  const version = Number(/version "(\d+)/.exec(found.stderr ?? '')?.[1] ?? 0);
  if (found.error !== undefined || version === 0)
    return 'java not found; install a Java runtime, version 17 or later';
  return version < 17 ? `java is version ${version}, but Kafka 4 needs 17 or later` : null;
}

/** Resolves when the broker answers. */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const { folder, port, tell = () => undefined } = options;
  const jars = await kafkaJars(tell);
  await mkdir(folder, { recursive: true });
  const properties = join(folder, 'server.properties');
  await writeFile(properties, await settings(options));
  const run = (heap: string, main: string, ...args: string[]): readonly string[] => [
    ...[`-Xmx${heap}`, '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'],
    ...[
      '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
      '-Dorg.slf4j.simpleLogger.showDateTime=true',
    ],
    ...['-cp', `${jars}/*`, main, ...args],
  ];
  if (!existsSync(join(folder, 'data', 'meta.properties'))) {
    const args = ['format', '--standalone', '-t', CLUSTER_ID, '-c', properties];
    const formatted = spawnSync(java(), run('128m', 'kafka.tools.StorageTool', ...args), {
      encoding: 'utf8',
    });
    if (formatted.status !== 0)
      throw new Error(`Kafka cannot format ${folder}: ${formatted.stderr}`);
  }
  const child = spawn(java(), run('512m', 'kafka.Kafka', properties), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, LOG_DIR: folder },
  });
  const output = createWriteStream(join(folder, 'broker.log'), { flags: 'a' });
  child.stdout.pipe(output, { end: false });
  child.stderr.pipe(output, { end: false });
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      child.kill(signal);
      await gone;
    }
    output.end();
  };
  await answering(child, port, join(folder, 'broker.log')).catch(async (error: unknown) => {
    await end('SIGKILL');
    throw error;
  });
  return {
    address: `127.0.0.1:${port}`,
    process: child,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}

/** A loopback port that is free at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

function java(): string {
  const home = process.env.JAVA_HOME;
  return home === undefined ? 'java' : join(home, 'bin', 'java');
}

async function settings(options: BrokerOptions): Promise<string> {
  const { folder, port, listeners = [], properties = {} } = options;
  const controller = await freePort();
  const clients = [`PLAINTEXT://127.0.0.1:${port}`, ...listeners];
  const all = {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.listener.names': 'CONTROLLER',
    'controller.quorum.bootstrap.servers': `127.0.0.1:${controller}`,
    listeners: [...clients, `CONTROLLER://127.0.0.1:${controller}`].join(','),
    'advertised.listeners': clients.join(','),
    'listener.security.protocol.map':
      'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL',
    'log.dirs': join(folder, 'data'),
    'auto.create.topics.enable': 'false',
    'offsets.topic.replication.factor': '1',
    'offsets.topic.num.partitions': '4',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'transaction.state.log.num.partitions': '4',
    'share.coordinator.state.topic.replication.factor': '1',
    'group.initial.rebalance.delay.ms': '0',
    // Segments and indexes are preallocated, and a test makes hundreds of topics.
    'log.index.size.max.bytes': '1048576',
    ...properties,
  };
  return Object.entries(all)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

/** The broker opens its port only when it is ready to serve. */
async function answering(child: ChildProcess, port: number, log: string): Promise<void> {
  const startedMs = performance.now();
  for (;;) {
    if (child.exitCode !== null) {
      throw new Error(`the broker exited with code ${child.exitCode} while starting; see ${log}`);
    }
    if (await connects(port)) return;
    if (performance.now() - startedMs > START_MAX_MS) {
      throw new Error(`the broker is not answering after ${START_MAX_MS / 1000} s; see ${log}`);
    }
    await new Promise((done) => setTimeout(done, 100));
  }
}

function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
