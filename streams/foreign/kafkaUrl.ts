/**
 * Where a Kafka log is, and how to get in: read from a URL and the environment.
 *
 * `kafka://[user[:password]@]host:port[,host:port…][?setting=value&…]`; `kafkas://` speaks TLS. Settings:
 * `tls`, `sasl`, `ca`, `cert`, `key`, `compression`, `partitions`, `replication`, `registry`, `worker`. Users
 * and passwords may come from the environment instead; `shownAddress` gives the URL as it may be shown or
 * stored, and no other form of it leaves this file. Nothing of an address with an `@` in it is repeated in an
 * error: it may be part of a password.
 */

import { readFileSync } from 'node:fs';
import {
  areNamed,
  HOSTS_VARIABLE,
  keepLogin,
  keepSecret,
  MillraceError,
  messageOf,
} from '../../base/index.ts';

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
  /** For topics whose order across keys does not matter. */
  readonly partitions: number;
  /** -1: the broker's default. */
  readonly replication: number;
  /** Null: the registry is a topic of the run. */
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

/** An address with a login, and paths of files. */
const MAY_HOLD_AT = ['registry', 'ca', 'cert', 'key'];
const ENCODE = 'in a user or password write @ as %40, ? as %3F, / as %2F, % as %25';

/** `URL` does not accept a list of hosts, so it is parsed here. */
function partsOf(url: string): Parts {
  const match = /^(kafkas?):\/\/(?:([^@/?]*)@)?([^/?@]+)\/?(?:\?(.*))?$/.exec(url);
  // The text is not repeated: it may hold a password.
  if (match === null) throw wrong(`the address of the log is not a Kafka URL; ${ENCODE}`);
  const [, scheme, login = '', hosts = '', query = ''] = match;
  const [user = '', ...rest] = login.split(':');
  const [username, password] = [decoded(user), decoded(rest.join(':'))];
  if (password !== '') keepLogin(username, password);
  const brokers = hosts.split(',').map((host) => (host.includes(':') ? host : `${host}:${PORT}`));
  const odd = brokers.findIndex((broker) => {
    return !/^[\w.-]+:\d+$/.test(broker) || Number(broker.split(':')[1]) > PORT_MAX;
  });
  if (odd >= 0) {
    throw url.includes('@')
      ? wrong(`broker ${odd + 1} of the log's address is not host:port; ${ENCODE}`)
      : wrong(`"${brokers[odd]}" is not host:port`);
  }
  return {
    secure: scheme === 'kafkas',
    username,
    password,
    brokers,
    query: queryOf(query, !url.includes('@')),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong(`the user or password in the log's address is not URL-encoded; ${ENCODE}`);
  }
}

/** Fails with code `USAGE` if a setting is unknown. */
function queryOf(text: string, mayRepeat: boolean): URLSearchParams {
  const query = new URLSearchParams(text);
  for (const [name, value] of query) {
    if (value.includes('@') && !MAY_HOLD_AT.includes(name)) {
      throw wrong(`the log's address has an @ after its ?; ${ENCODE}`);
    }
    if (known.includes(name)) continue;
    const shown = mayRepeat ? ` "${name}"` : '';
    throw wrong(
      `the log's address has an unknown setting${shown}; the settings are ${known.join(', ')}`,
    );
  }
  return query;
}

/**
 * The environment for an address that a file names: without credentials, unless the user at this machine
 * has named its brokers and its registry (base/namedHosts.ts). Fails with code `USAGE` if the address asks
 * for a login that it may not be given.
 */
export function environmentFor(url: string, env: Environment): Environment {
  const { brokers, query } = partsOf(url);
  const registry = registrySettings(query.get('registry') ?? '', {});
  const [toBrokers, toRegistry] = [
    areNamed(brokers, env),
    registry === null || areNamed([new URL(registry.url).host], env),
  ];
  const has = (name: string): boolean => (env[name] ?? '') !== '';
  const wanted = !toBrokers && query.has('sasl') && has('MILLRACE_KAFKA_USERNAME');
  if (wanted || (!toRegistry && has('MILLRACE_REGISTRY_USERNAME'))) {
    const hosts = wanted ? brokers.join(',') : new URL(registry!.url).host;
    throw wrong(
      `according to its run.json the run's records are at ${hosts}, and credentials from the environment go only to hosts that you name: ` +
        `set ${HOSTS_VARIABLE}=${hosts} if they are yours`,
    );
  }
  const held = [
    ...(toBrokers
      ? []
      : [
          'MILLRACE_KAFKA_USERNAME',
          'MILLRACE_KAFKA_PASSWORD',
          'MILLRACE_KAFKA_KEY',
          'MILLRACE_KAFKA_CERT',
        ]),
    ...(toRegistry ? [] : ['MILLRACE_REGISTRY_USERNAME', 'MILLRACE_REGISTRY_PASSWORD']),
  ];
  return Object.fromEntries(Object.entries(env).filter(([name]) => !held.includes(name)));
}

/** The hosts of an address that the user at this machine has given. */
export function hostsIn(url: string): readonly string[] {
  const { brokers, query } = partsOf(url);
  const registry = registrySettings(query.get('registry') ?? '', {});
  return registry === null ? brokers : [...brokers, new URL(registry.url).host];
}

/** Fails with code `USAGE`, saying which part is wrong. */
export function kafkaSettings(url: string, env: Environment = {}): KafkaSettings {
  const { secure, username, password, brokers, query } = partsOf(url);
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

/**
 * The address without users and passwords: what may be printed and stored. `sasl` still shows that it had a
 * user, so that a missing one can be reported.
 */
export function shownAddress(url: string): string {
  const { secure, username, brokers, query } = partsOf(url);
  const shown = new URLSearchParams(query);
  const registry = registrySettings(shown.get('registry') ?? '', {});
  if (registry !== null) shown.set('registry', registry.url);
  if (username !== '' && !shown.has('sasl')) shown.set('sasl', 'plain');
  const settings = shown.size === 0 ? '' : `?${shown}`;
  return `kafka${secure ? 's' : ''}://${brokers.join(',')}${settings}`;
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
  if (password !== '') keepLogin(username, password);
  if (username === '') {
    if (asked === null) return null;
    throw wrong('sasl needs a user: put it before the host, or in MILLRACE_KAFKA_USERNAME');
  }
  if (password === '') {
    throw wrong(`the log's address has a user but no password; put it in MILLRACE_KAFKA_PASSWORD`);
  }
  const mechanism = one('sasl', (asked ?? 'plain').toLowerCase(), saslMechanisms);
  return { mechanism, username, password };
}

function registrySettings(text: string, env: Environment): RegistrySettings | null {
  if (text === '') return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw wrong('registry is not an http:// or https:// address');
  }
  for (const value of url.searchParams.values()) keepSecret(value);
  if (url.search !== '' || url.hash !== '') {
    throw wrong(
      'the address of the registry carries a query, which may hold a key: log in with MILLRACE_REGISTRY_USERNAME and MILLRACE_REGISTRY_PASSWORD',
    );
  }
  const username = decoded(url.username) || (env.MILLRACE_REGISTRY_USERNAME ?? '');
  const password = decoded(url.password) || (env.MILLRACE_REGISTRY_PASSWORD ?? '');
  keepLogin(username, password);
  return { url: (url.origin + url.pathname).replace(/\/$/, ''), username, password };
}

/** Does not repeat what was given: a password that was not encoded may be part of it. */
function one<T extends string>(name: string, value: string, of: readonly T[]): T {
  const found = of.find((candidate) => candidate === value);
  if (found === undefined) throw wrong(`${name} must be one of ${of.join(', ')}`);
  return found;
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw wrong(`${name} must be a whole number, 1 or more`);
}

function workerName(name: string): string {
  if (/^[A-Za-z0-9_-]+$/.test(name)) return name;
  throw wrong(`worker may contain only letters, digits, _ and -`);
}
