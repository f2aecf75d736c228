/**
 * A link to the cluster: connections of its own, and requests that are repeated until they are answered.
 *
 * Connections, SASL and the encoding of every request are @platformatic/kafka's; the versions asked in are
 * those of Kafka 3.0. A request goes to the broker that can answer it (a partition's leader, a coordinator);
 * when it cannot be answered now (the broker is gone, its leader moved, a transaction is being finished) it
 * is asked again with growing pauses, for `patienceMs` at most; a topic that the brokers say does not exist
 * is waited for a few seconds, no longer. Requests must be safe to repeat. Long polls hold up what comes
 * after them on the same connection, so each follower has a link of its own.
 */
import {
  type Broker,
  type Connection,
  ConnectionPool,
  findCoordinatorV4,
  metadataV9,
  ProtocolError,
  TimeoutError,
} from '@platformatic/kafka';
import { MillraceError } from '../../base/index.ts';
import type { KafkaSettings } from '../foreign/kafkaUrl.ts';
import { closedLog } from '../logErrors.ts';
import { Brokers } from './brokers.ts';
import { isRefused, kindOf, type Remedy, reasonOf, remedyFor } from './problems.ts';

export type Target =
  | { readonly kind: 'any' }
  | { readonly kind: 'controller' }
  | { readonly kind: 'leader'; readonly topic: string; readonly partition: number }
  | { readonly kind: 'coordinator'; readonly of: 'group' | 'transaction'; readonly id: string };

/** A request of the protocol in the library's form: its arguments and its answer. */
export interface Request<Args extends unknown[], Answer> {
  async(connection: Connection, ...args: Args): Promise<Answer>;
}

export interface Limits {
  /** How long it is repeated before it fails. */
  readonly patienceMs?: number;
  /** How long to wait for one answer before giving the connection up. */
  readonly answerMs?: number;
  /** Names of the topics concerned, if its target does not say. */
  readonly topics?: readonly string[];
}

/** What all links of a log share. */
export interface LinkOptions {
  readonly settings: KafkaSettings;
  readonly clientId: string;
  /** As in `Limits`, by default. */
  readonly patienceMs: number;
  /** Aborted when the log closes: what waits, ends. */
  readonly closing: AbortSignal;
  /** Called when the broker has not answered for long, and when it answers again. */
  readonly notice: (line: string) => void;
}

const PAUSE_MIN_MS = 2;
const PAUSE_MAX_MS = 500;
const RECONNECT_PAUSE_MS = 100;
const NOTICE_AFTER_MS = 3_000;
/** Every broker has long heard of a new topic by then. */
const GONE_AFTER_MS = 5_000;
const CONNECT_MS = 5_000;
const ANSWER_MS = 30_000;
/** Skip a broker that says nothing about the cluster for this long: another one will answer. */
const METADATA_MS = 5_000;
/** The library's own limit, longer than any of ours. */
const REQUEST_MS_MAX = 600_000;
/** The protocol's numbers for the kinds of coordinator. */
const COORDINATORS = { group: 0, transaction: 1 } as const;

export class Link {
  readonly #options: LinkOptions;
  readonly #brokers: Brokers;
  readonly #coordinators = new Map<string, Broker>();
  /** By topic, then partition. */
  readonly #leaders = new Map<string, ReadonlyMap<number, Broker>>();
  #controller: Broker | null = null;
  #clusterId = '';
  #pool: ConnectionPool | null = null;
  #ended = false;

  readonly #end = (): void => void this.close();

  constructor(options: LinkOptions, brokers = new Brokers(options.settings.brokers)) {
    this.#options = options;
    this.#brokers = brokers;
    options.closing.addEventListener('abort', this.#end, { once: true });
  }

  get settings(): KafkaSettings {
    return this.#options.settings;
  }

  /** The cluster's name for itself; '' before anything was asked, and if it has none. */
  get clusterId(): string {
    return this.#clusterId;
  }

  /** Another link with the same options, which knows the same brokers. */
  another(): Link {
    return new Link(this.#options, this.#brokers);
  }

  /**
   * Rejects with `KAFKA`, `KAFKA_AUTH`, `TOPIC_GONE` or `CLOSED`; if the broker refuses the request
   * itself, with an error that says why and whose kind `kindOf` gives.
   */
  async ask<Args extends unknown[], Answer>(
    target: Target,
    request: Request<Args, Answer>,
    args: Args,
    limits: Limits = {},
  ): Promise<Answer> {
    const { patienceMs = this.#options.patienceMs, topics } = limits;
    const { answerMs = target.kind === 'any' ? METADATA_MS : ANSWER_MS } = limits;
    const sinceMs = performance.now();
    const about = topics ?? (target.kind === 'leader' ? [target.topic] : []);
    let unknownMs: number | null = null;
    let reported = false;
    for (let attempt = 0; ; attempt++) {
      const pool = this.#open();
      try {
        const connection = await inTime(this.#connectionFor(pool, target), ANSWER_MS);
        const answer = await inTime(request.async(connection, ...args), answerMs);
        if (reported) this.#options.notice(`${this.#who} at ${this.#address} answers again`);
        return answer;
      } catch (error) {
        this.#mustBeOpen();
        const cut = pool !== this.#pool && kindOf(error) === ''; // for another request's sake
        const remedy = remedyFor(error) ?? (cut ? 'later' : null);
        if (remedy === null) throw this.#refused(error);
        const waitedMs = performance.now() - sinceMs;
        unknownMs = kindOf(error) === UNKNOWN_TOPIC ? (unknownMs ?? waitedMs) : null;
        if (unknownMs !== null && waitedMs - unknownMs > GONE_AFTER_MS) {
          await this.#mustHave(about);
          unknownMs = null;
        }
        if (waitedMs > patienceMs) throw this.#gaveUp(error, waitedMs);
        if (waitedMs > NOTICE_AFTER_MS && !reported && remedy === 'reconnect') {
          this.#options.notice(this.#silent);
          reported = true;
        }
        this.#repair(remedy, target, pool);
        await this.#pause(attempt, remedy);
      }
    }
  }

  /** Waits for any of the brokers. Fails as `ask` does. */
  async reach(patienceMs: number): Promise<void> {
    const { clusterId, brokers } = await this.ask({ kind: 'any' }, metadataV9.api, [[]], {
      patienceMs,
    });
    this.#clusterId = clusterId ?? '';
    this.#brokers.learn([...brokers.values()]);
  }

  /** Fails with code `TOPIC_GONE` when a broker says that one of the topics does not exist. */
  async #mustHave(topics: readonly string[]): Promise<void> {
    for (const topic of topics) {
      const asked = this.ask({ kind: 'any' }, partitionCount, [topic], { patienceMs: 0 });
      if ((await asked.catch(() => 1)) === 0) {
        throw new MillraceError(
          'TOPIC_GONE',
          `the topic ${topic} is no longer on the broker at ${this.#address}: it was deleted while the run was using it. ` +
            'To inspect what survives, run: millrace doctor RUN',
          { context: { topic, brokers: this.settings.brokers } },
        );
      }
    }
  }

  /** Joins the partitions that have the same leader. */
  async byLeader(topic: string, partitions: readonly number[]): Promise<readonly number[][]> {
    if (partitions.length === 1) return [[...partitions]];
    // If it is not known now, any broker will do: the request itself finds out.
    const leaders = await this.#leadersOf(this.#open(), topic).catch(() => null);
    const groups = new Map<string, number[]>();
    for (const partition of partitions) {
      const leader = leaders?.get(partition);
      const key = leader === undefined ? '' : `${leader.host}:${leader.port}`;
      groups.set(key, [...(groups.get(key) ?? []), partition]);
    }
    return [...groups.values()];
  }

  /** Pending requests fail with `CLOSED`. */
  async close(): Promise<void> {
    this.#ended = true;
    this.#options.closing.removeEventListener('abort', this.#end);
    await this.#drop();
  }

  get #address(): string {
    return this.settings.brokers.join(', ');
  }

  get #who(): string {
    return this.#brokers.several ? 'the cluster' : 'the broker';
  }

  get #silent(): string {
    return this.#brokers.several
      ? `a broker of the cluster at ${this.#address} does not answer; waiting until it answers or another takes its place`
      : `the broker at ${this.#address} does not answer; waiting for it`;
  }

  #mustBeOpen(): void {
    if (this.#ended || this.#options.closing.aborted) {
      throw closedLog();
    }
  }

  #open(): ConnectionPool {
    this.#mustBeOpen();
    this.#pool ??= this.#newPool();
    return this.#pool;
  }

  #newPool(): ConnectionPool {
    const { tls, sasl } = this.settings;
    const pool = new ConnectionPool(this.#options.clientId, {
      connectTimeout: CONNECT_MS,
      requestTimeout: REQUEST_MS_MAX,
      ...(tls === null ? {} : { tls }),
      ...(sasl === null ? {} : { sasl: { ...sasl, mechanism: mechanismOf(sasl.mechanism) } }),
    });
    // Every request rejects with it; unhandled, it would end the process.
    pool.on('connecting', ({ connection }) => void connection.on('error', () => undefined));
    return pool;
  }

  async #connectionFor(pool: ConnectionPool, target: Target): Promise<Connection> {
    switch (target.kind) {
      case 'any':
        return this.#any(pool);
      case 'controller':
        if (this.#controller === null) await this.#refresh(pool, []);
        return this.#controller === null ? this.#any(pool) : pool.get(this.#controller);
      case 'leader': {
        const leader = (await this.#leadersOf(pool, target.topic)).get(target.partition);
        if (leader === undefined) throw new ProtocolError('LEADER_NOT_AVAILABLE');
        return pool.get(leader);
      }
      case 'coordinator':
        return pool.get(await this.#coordinatorOf(pool, target));
    }
  }

  #any(pool: ConnectionPool): Promise<Connection> {
    return pool.getFirstAvailable(this.#brokers.inTurn);
  }

  async #leadersOf(pool: ConnectionPool, topic: string): Promise<ReadonlyMap<number, Broker>> {
    const known = this.#leaders.get(topic);
    if (known !== undefined) return known;
    await this.#refresh(pool, [topic]);
    return this.#leaders.get(topic) ?? new Map();
  }

  async #refresh(pool: ConnectionPool, topics: string[]): Promise<void> {
    const connection = await this.#any(pool);
    const answer = await inTime(metadataV9.api.async(connection, topics), METADATA_MS);
    const brokers = new Map(answer.brokers.map((broker) => [broker.nodeId, broker]));
    this.#brokers.learn(answer.brokers);
    this.#controller = brokers.get(answer.controllerId) ?? null;
    for (const { name, partitions } of answer.topics) {
      const leaders = partitions.flatMap(({ partitionIndex, leaderId }) => {
        const leader = brokers.get(leaderId);
        return leader === undefined ? [] : [[partitionIndex, leader] as const];
      });
      this.#leaders.set(name ?? '', new Map(leaders));
    }
  }

  async #coordinatorOf(
    pool: ConnectionPool,
    { of, id }: { readonly of: 'group' | 'transaction'; readonly id: string },
  ): Promise<Broker> {
    const known = this.#coordinators.get(`${of}/${id}`);
    if (known !== undefined) return known;
    const connection = await this.#any(pool);
    const asked = findCoordinatorV4.api.async(connection, COORDINATORS[of], [id]);
    const [coordinator] = (await inTime(asked, METADATA_MS)).coordinators;
    if (coordinator === undefined) throw new ProtocolError('COORDINATOR_NOT_AVAILABLE');
    this.#coordinators.set(`${of}/${id}`, coordinator);
    return coordinator;
  }

  #repair(remedy: Remedy, target: Target, pool: ConnectionPool): void {
    if (target.kind === 'coordinator') this.#coordinators.delete(`${target.of}/${target.id}`);
    if (target.kind === 'leader' && remedy === 'metadata') this.#leaders.delete(target.topic);
    if (target.kind === 'controller') this.#controller = null;
    if (remedy === 'reconnect' && pool === this.#pool) {
      this.#brokers.next();
      void this.#drop();
    }
  }

  /** What is asked over these connections fails at once; the next request makes new ones. */
  async #drop(): Promise<void> {
    const dropped = this.#pool;
    this.#pool = null;
    this.#controller = null;
    this.#coordinators.clear();
    this.#leaders.clear();
    if (dropped === null) return;
    const sockets = [...dropped].map(([, { socket }]) => socket);
    const closed = dropped.close();
    for (const socket of sockets) socket?.destroy(); // none if an address is invalid
    await closed.catch(() => undefined);
  }

  async #pause(attempt: number, remedy: Remedy): Promise<void> {
    const least = remedy === 'reconnect' ? RECONNECT_PAUSE_MS : PAUSE_MIN_MS;
    await pause(Math.min(PAUSE_MAX_MS, least * 2 ** Math.min(attempt, 10)), this.#options.closing);
  }

  #refused(cause: unknown): Error {
    const kind = kindOf(cause);
    if (isRefused(cause)) {
      return new MillraceError(
        'KAFKA_AUTH',
        `the broker at ${this.#address} refused access: ${reasonOf(cause).replace(/\.$/, '')}; check user, password and rights`,
        { context: { brokers: this.settings.brokers, kind }, cause },
      );
    }
    return kind === '' && cause instanceof Error ? cause : new Error(reasonOf(cause), { cause });
  }

  #gaveUp(cause: unknown, waitedMs: number): MillraceError {
    const seconds = Math.round(waitedMs / 1000);
    return new MillraceError(
      'KAFKA',
      `no broker at ${this.#address} has answered for ${seconds} s (${reasonOf(cause)}); ` +
        'check the address and that it is running; nothing is lost: start the run again once it answers',
      { context: { brokers: this.settings.brokers, kind: kindOf(cause) }, cause },
    );
  }
}

const UNKNOWN_TOPIC = 'UNKNOWN_TOPIC_OR_PARTITION';

/** How many partitions a topic has; 0 if it does not exist. */
export const partitionCount: Request<[name: string], number> = {
  async async(connection, name) {
    try {
      const { topics } = await metadataV9.api.async(connection, [name]);
      return topics[0]?.partitions.length ?? 0;
    } catch (error) {
      if (kindOf(error) === UNKNOWN_TOPIC) return 0;
      throw error;
    }
  },
};

type Mechanism = 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';

const mechanismOf = (name: Lowercase<Mechanism>): Mechanism => name.toUpperCase() as Mechanism;

/** Fails like a broken connection if it takes longer. */
async function inTime<T>(answer: Promise<T>, answerMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(`no answer in ${answerMs} ms`)), answerMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves after `ms`, or as soon as the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (signal.aborted) done();
    else signal.addEventListener('abort', done, { once: true });
  });
}
