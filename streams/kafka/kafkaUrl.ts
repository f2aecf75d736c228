/**
 * Where a Kafka log lies, and how to get in: read from a URL and the environment.
 *
 * `kafka://[user[:password]@]host:port[,host:port…][?setting=value&…]`; `kafkas://` speaks TLS. Settings:
 * `tls`, `sasl`, `ca`, `cert`, `key`, `compression`, `partitions`, `replication`, `registry`, `worker`.
 * Passwords may come from the environment instead; `withoutSecrets` gives the URL as it may be shown or
 * stored, and no other form of it leaves this file.
 */
import { readFileSync } from 'node:fs';
import { MillraceError, messageOf } from '../../base/errors.ts';

export const saslMechanisms = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;
export type SaslMechanism = (typeof saslMechanisms)[number];
export const compressions = ['none', 'gzip', 'zstd'] as const;
export type Compression = (typeof compressions)[number];

/** As `tls.connect` takes them. */
export interface TlsSettings {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface SaslSettings {
  readonly mechanism: SaslMechanism;
  readonly username: string;
  readonly password: string;
}

/** An HTTP schema registry. */
export interface RegistrySettings {
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

export interface KafkaSettings {
  /** `host:port` each. */
  readonly brokers: readonly string[];
  readonly tls: TlsSettings | null;
  readonly sasl: SaslSettings | null;
  readonly compression: Compression;
  /** Of topics whose order across keys does not matter. */
  readonly partitions: number;
  /** -1: as the broker has it. */
  readonly replication: number;
  /** Null: the registry lies in a topic of the run. */
  readonly registry: RegistrySettings | null;
  /** Name of this process among those that share the run. */
  readonly worker: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const PORT = 9092;
const PORT_MAX = 65_535;
const known = [
  ...['tls', 'sasl', 'ca', 'cert', 'key', 'compression', 'partitions', 'replication'],
  ...['registry', 'worker'],
];

export function isKafkaUrl(text: string): boolean {
  return /^kafkas?:\/\//.test(text);
}

function wrong(why: string): MillraceError {
  return new MillraceError('USAGE', `${why}; write kafka://host:port, as in docs/kafka.md`);
}

interface Parts {
  readonly secure: boolean;
  readonly username: string;
  readonly password: string;
  readonly brokers: readonly string[];
  readonly query: URLSearchParams;
}

/** A list of hosts is no URL to `URL`, so it is taken apart here. */
function partsOf(url: string): Parts {
  const match = /^(kafkas?):\/\/(?:([^@/?]*)@)?([^/?@]+)\/?(?:\?(.*))?$/.exec(url);
  // The text is not repeated: it may hold a password.
  if (match === null) throw wrong('the address of the log is not a Kafka URL');
  const [, scheme, login = '', hosts = '', query = ''] = match;
  const [username = '', ...password] = login.split(':');
  const brokers = hosts.split(',').map((host) => (host.includes(':') ? host : `${host}:${PORT}`));
  const odd = brokers.find((broker) => {
    return !/^[\w.-]+:\d+$/.test(broker) || Number(broker.split(':')[1]) > PORT_MAX;
  });
  if (odd !== undefined) throw wrong(`"${odd}" is not host:port`);
  return {
    secure: scheme === 'kafkas',
    username: decodeURIComponent(username),
    password: decodeURIComponent(password.join(':')),
    brokers,
    query: new URLSearchParams(query),
  };
}

/** Fails with code `USAGE`, saying which part is wrong. */
export function kafkaSettings(url: string, env: Environment = {}): KafkaSettings {
  const { secure, username, password, brokers, query } = partsOf(url);
  for (const name of query.keys()) {
    if (!known.includes(name)) {
      throw wrong(`the log's address has a setting "${name}"; there are ${known.join(', ')}`);
    }
  }
  const tls = secure || query.get('tls') === 'true';
  return {
    brokers,
    tls: tls ? tlsSettings(query, env) : null,
    sasl: saslSettings(username, password, query, env),
    compression: one('compression', query.get('compression') ?? 'none', compressions),
    partitions: whole('partitions', query.get('partitions') ?? '1'),
    replication: query.has('replication') ? whole('replication', query.get('replication')!) : -1,
    registry: registrySettings(query.get('registry') ?? '', env),
    worker: workerName(query.get('worker') ?? 'main'),
  };
}

/** The address without passwords: what may be printed and written down. */
export function withoutSecrets(url: string): string {
  const { secure, username, brokers, query } = partsOf(url);
  const shown = new URLSearchParams(query);
  const registry = shown.get('registry');
  if (registry !== null) shown.set('registry', plainUrl(registry));
  const settings = shown.size === 0 ? '' : `?${shown}`;
  const login = username === '' ? '' : `${encodeURIComponent(username)}@`;
  return `kafka${secure ? 's' : ''}://${login}${brokers.join(',')}${settings}`;
}

function plainUrl(text: string): string {
  const url = new URL(text);
  url.password = '';
  return url.href;
}

function tlsSettings(query: URLSearchParams, env: Environment): TlsSettings {
  const files = [
    ['ca', query.get('ca') ?? env.MILLRACE_KAFKA_CA],
    ['cert', query.get('cert') ?? env.MILLRACE_KAFKA_CERT],
    ['key', query.get('key') ?? env.MILLRACE_KAFKA_KEY],
  ] as const;
  return Object.fromEntries(
    files.flatMap(([name, path]) => (path === undefined ? [] : [[name, contentOf(name, path)]])),
  );
}

function contentOf(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw wrong(`the ${name} file cannot be read: ${messageOf(error)}`);
  }
}

function saslSettings(
  user: string,
  secret: string,
  query: URLSearchParams,
  env: Environment,
): SaslSettings | null {
  const username = user || (env.MILLRACE_KAFKA_USERNAME ?? '');
  const password = secret || (env.MILLRACE_KAFKA_PASSWORD ?? '');
  const asked = query.get('sasl');
  if (username === '') {
    if (asked === null) return null;
    throw wrong('sasl needs a user: put it before the host, or into MILLRACE_KAFKA_USERNAME');
  }
  if (password === '') {
    throw wrong(`there is no password for ${username}; put it into MILLRACE_KAFKA_PASSWORD`);
  }
  const mechanism = one('sasl', (asked ?? 'plain').toLowerCase(), saslMechanisms);
  return { mechanism, username, password };
}

function registrySettings(text: string, env: Environment): RegistrySettings | null {
  if (text === '') return null;
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw wrong('registry is not an http:// or https:// address');
  }
  const username = decodeURIComponent(url.username) || (env.MILLRACE_REGISTRY_USERNAME ?? '');
  const password = decodeURIComponent(url.password) || (env.MILLRACE_REGISTRY_PASSWORD ?? '');
  url.username = '';
  url.password = '';
  return { url: url.href.replace(/\/$/, ''), username, password };
}

function one<T extends string>(name: string, value: string, of: readonly T[]): T {
  const found = of.find((candidate) => candidate === value);
  if (found === undefined) throw wrong(`${name} is one of ${of.join(', ')}; given: ${value}`);
  return found;
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw wrong(`${name} is a whole number, 1 or more; given: ${text}`);
}

function workerName(name: string): string {
  if (/^[A-Za-z0-9_-]+$/.test(name)) return name;
  throw wrong(`worker may hold letters, digits, _ and - only; given: ${name}`);
}
