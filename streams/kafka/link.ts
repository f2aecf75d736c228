/**
 * A link to the cluster: connections of its own, and requests that are asked until they are answered.
 *
 * A request goes to whoever can answer it (a partition's leader, a coordinator); when it cannot be
 * answered now (the broker is gone, its leader moved, a transaction is being finished) it is asked again
 * with growing pauses, for `patienceMs` at most. Requests must be safe to repeat. Long polls hold up what
 * comes after them on the same connection, so each follower has a link of its own.
 */
import { MillraceError, messageOf } from '../../base/errors.ts';
import { type Broker, type Cluster, giveUpRequests, newCluster } from './kafkajs.ts';
import type { KafkaSettings } from './kafkaUrl.ts';
import { isRefused, kindOf, type Remedy, remedyFor } from './problems.ts';

export type Target =
  | { readonly kind: 'any' }
  | { readonly kind: 'controller' }
  | { readonly kind: 'leader'; readonly topic: string; readonly partition: number }
  | { readonly kind: 'coordinator'; readonly of: 'group' | 'transaction'; readonly id: string };

/** What all links of a log share. */
export interface LinkOptions {
  readonly settings: KafkaSettings;
  readonly clientId: string;
  /** How long a request is asked again before it fails. */
  readonly patienceMs: number;
  /** Aborted when the log closes: what waits, ends. */
  readonly closing: AbortSignal;
  /** Told when the broker does not answer for long, and when it does again. */
  readonly notice: (line: string) => void;
}

const PAUSE_MIN_MS = 2;
const PAUSE_MAX_MS = 500;
const RECONNECT_PAUSE_MS = 100;
const NOTICE_AFTER_MS = 3_000;

export class Link {
  readonly #options: LinkOptions;
  readonly #coordinators = new Map<string, number>();
  readonly #topics = new Set<string>();
  #cluster: Promise<Cluster> | null = null;
  /** Under way. */
  readonly #asked = new Set<Promise<unknown>>();
  #ended = false;

  readonly #end = (): void => void this.close();

  constructor(options: LinkOptions) {
    this.#options = options;
    options.closing.addEventListener('abort', this.#end, { once: true });
  }

  get settings(): KafkaSettings {
    return this.#options.settings;
  }

  /** Another link with the same options. */
  another(): Link {
    return new Link(this.#options);
  }

  /** Rejects with `KAFKA`, `KAFKA_AUTH` or `CLOSED`; any other answer of the broker goes through as it is. */
  async ask<T>(
    target: Target,
    request: (broker: Broker) => Promise<T>,
    patienceMs = this.#options.patienceMs,
  ): Promise<T> {
    const sinceMs = performance.now();
    let told = false;
    for (let attempt = 0; ; attempt++) {
      this.#mustBeOpen();
      try {
        const answer = await this.#askOnce(target, request);
        if (told) this.#options.notice(`the broker at ${this.#address} answers again`);
        return answer;
      } catch (error) {
        const remedy = remedyFor(error);
        if (remedy === null) throw this.#final(error);
        const waitedMs = performance.now() - sinceMs;
        if (waitedMs > patienceMs) throw this.#gaveUp(error, waitedMs);
        if (waitedMs > NOTICE_AFTER_MS && !told && remedy === 'reconnect') {
          this.#options.notice(`the broker at ${this.#address} does not answer; waiting for it`);
          told = true;
        }
        await this.#pause(attempt, remedy);
        await this.#mend(remedy, target);
      }
    }
  }

  /** The partitions, put together by the broker that leads them. */
  async byLeader(topic: string, partitions: readonly number[]): Promise<readonly number[][]> {
    const groups = new Map<number, number[]>();
    for (const partition of partitions) {
      const leader = await this.#leaderIn(topic, partition);
      groups.set(leader, [...(groups.get(leader) ?? []), partition]);
    }
    return [...groups.values()];
  }

  /** What is still asked fails with `CLOSED`. */
  async close(): Promise<void> {
    this.#ended = true;
    this.#options.closing.removeEventListener('abort', this.#end);
    const cluster = await this.#cluster?.catch(() => null);
    this.#cluster = null;
    if (!cluster) return;
    giveUpRequests(cluster);
    // kafkajs may be connecting for one of them: it would lose sight of a connection made after the end.
    await Promise.allSettled(this.#asked);
    await cluster.disconnect().catch(() => undefined);
  }

  get #address(): string {
    return this.settings.brokers.join(', ');
  }

  #mustBeOpen(): void {
    if (this.#ended || this.#options.closing.aborted) {
      throw new MillraceError('CLOSED', 'this log is closed; open it again');
    }
  }

  async #askOnce<T>(target: Target, request: (broker: Broker) => Promise<T>): Promise<T> {
    return this.#with(async (cluster) => {
      const broker = await this.#brokerFor(cluster, target);
      this.#mustBeOpen(); // connecting took its time
      return request(broker);
    });
  }

  async #with<T>(work: (cluster: Cluster) => Promise<T>): Promise<T> {
    const asked = this.#connected().then(work);
    this.#asked.add(asked);
    return asked.finally(() => this.#asked.delete(asked));
  }

  async #connected(): Promise<Cluster> {
    this.#mustBeOpen();
    this.#cluster ??= this.#connect();
    return this.#cluster;
  }

  async #connect(): Promise<Cluster> {
    const cluster = newCluster(this.settings, this.#options.clientId);
    try {
      await cluster.connect();
      await cluster.refreshMetadata();
      return cluster;
    } catch (error) {
      this.#cluster = null;
      void cluster.disconnect().catch(() => undefined);
      throw error;
    }
  }

  async #brokerFor(cluster: Cluster, target: Target): Promise<Broker> {
    switch (target.kind) {
      case 'any':
        return cluster.brokerPool.findConnectedBroker();
      case 'controller':
        return cluster.findControllerBroker();
      case 'leader':
        return cluster.findBroker({ nodeId: await this.#leaderOf(cluster, target) });
      case 'coordinator':
        return cluster.findBroker({ nodeId: await this.#coordinatorOf(cluster, target) });
    }
  }

  /** Where it is not known now, any will do: the request itself finds out. */
  #leaderIn(topic: string, partition: number): Promise<number> {
    return this.#with((cluster) => this.#leaderOf(cluster, { topic, partition })).catch(() => -1);
  }

  async #leaderOf(
    cluster: Cluster,
    { topic, partition }: { readonly topic: string; readonly partition: number },
  ): Promise<number> {
    if (!this.#topics.has(topic)) {
      await cluster.addMultipleTargetTopics([topic]);
      this.#topics.add(topic);
    }
    const leaders = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
    const leader = Number(leaders[0] ?? -1);
    if (leader >= 0) return leader;
    throw Object.assign(new Error(`${topic}/${partition} has no leader`), {
      type: 'LEADER_NOT_AVAILABLE',
    });
  }

  async #coordinatorOf(
    cluster: Cluster,
    { of, id }: { readonly of: 'group' | 'transaction'; readonly id: string },
  ): Promise<number> {
    const known = this.#coordinators.get(`${of}/${id}`);
    if (known !== undefined) return known;
    const broker = await cluster.brokerPool.findConnectedBroker();
    const coordinatorType = of === 'group' ? 0 : 1;
    const { coordinator } = await broker.findGroupCoordinator({ groupId: id, coordinatorType });
    this.#coordinators.set(`${of}/${id}`, coordinator.nodeId);
    return coordinator.nodeId;
  }

  async #mend(remedy: Remedy, target: Target): Promise<void> {
    if (target.kind === 'coordinator') this.#coordinators.delete(`${target.of}/${target.id}`);
    if (remedy === 'reconnect') await this.#drop();
    if (remedy !== 'metadata') return;
    // A topic that was not there when it was asked for is asked for anew.
    if (target.kind === 'leader') this.#topics.delete(target.topic);
    await this.#with((cluster) => cluster.refreshMetadata()).catch(() => undefined); // the next attempt tells
  }

  async #drop(): Promise<void> {
    const dropped = this.#cluster;
    this.#cluster = null;
    this.#coordinators.clear();
    this.#topics.clear();
    // kafkajs waits for answers on their way; nobody here does.
    void dropped?.then((cluster) => cluster.disconnect()).catch(() => undefined);
  }

  async #pause(attempt: number, remedy: Remedy): Promise<void> {
    const least = remedy === 'reconnect' ? RECONNECT_PAUSE_MS : PAUSE_MIN_MS;
    await pause(Math.min(PAUSE_MAX_MS, least * 2 ** Math.min(attempt, 10)), this.#options.closing);
  }

  #final(error: unknown): unknown {
    if (!isRefused(error)) return error;
    return new MillraceError(
      'KAFKA_AUTH',
      `the broker at ${this.#address} refuses: ${messageOf(error)}; check user, password and rights`,
      { context: { brokers: this.settings.brokers, kind: kindOf(error) } },
    );
  }

  #gaveUp(cause: unknown, waitedMs: number): MillraceError {
    const seconds = Math.round(waitedMs / 1000);
    return new MillraceError(
      'KAFKA',
      `no broker at ${this.#address} could answer for ${seconds} s (${messageOf(cause)}); ` +
        'check the address and that it runs; nothing is lost, start again when it does',
      { context: { brokers: this.settings.brokers, kind: kindOf(cause) }, cause },
    );
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
