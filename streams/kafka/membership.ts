/**
 * This process as a member of a reading group: joins, sends heartbeats and follows rebalances.
 *
 * The member is static (KIP-345): it has the worker's name, so a process that starts again in its place gets
 * its partitions at once, and the one it replaces is refused from then on. A rebalance never interrupts
 * partitions that stay; one that moves is released (`released` resolves) before it is reassigned.
 */
import {
  heartbeatV4,
  joinGroupV7,
  leaveGroupV4,
  Reader,
  syncGroupV5,
  Writer,
} from '@platformatic/kafka';
import { eitherSignal, MillraceError } from '../../base/index.ts';
import { assign, type Claim } from './assign.ts';
import { type Link, pause, type Target } from './link.ts';
import { isGroupMoved, kindOf } from './problems.ts';

/** A member of a group, as requests name it; its instance is the worker. */
export type Member = readonly [
  groupId: string,
  generation: number,
  memberId: string,
  instanceId: string,
];

export interface MembershipHooks {
  /** Ours from now on. */
  gained(partitions: readonly number[]): Promise<void>;
  /** To be released: resolves once no work is under way there. */
  released(partitions: readonly number[]): Promise<void>;
  /** Taken away: another member may already have them. */
  lost(partitions: readonly number[]): void;
  failed(error: unknown): void;
}

export interface MembershipOptions {
  readonly groupId: string;
  /** The broker's name. */
  readonly topic: string;
  readonly partitions: number;
  readonly worker: string;
  /** After this long without a heartbeat the group continues without us. */
  readonly sessionMs: number;
  readonly heartbeatMs: number;
}

const PROTOCOL_TYPE = 'consumer';
const PROTOCOL = 'millrace-sticky';
/** Partitions that move are released before the member joins again, so joining itself is quick. */
const REBALANCE_MS = 60_000;
/** The broker answers once all members have joined. */
const ROUND = { answerMs: REBALANCE_MS + 5_000 };
const LEAVE_MS = 1_000;

export class Membership {
  readonly #link: Link;
  readonly #options: MembershipOptions;
  readonly #hooks: MembershipHooks;
  readonly #ending = new AbortController();
  #memberId = '';
  #generation = -1;
  #held: readonly number[] = [];
  #wake = (): void => undefined;
  #rejoin = false;
  #running: Promise<void> | null = null;
  /** Resolved at the end of the next round. */
  #rounds: (() => void)[] = [];

  constructor(link: Link, options: MembershipOptions, hooks: MembershipHooks) {
    this.#link = link;
    this.#options = options;
    this.#hooks = hooks;
  }

  get groupId(): string {
    return this.#options.groupId;
  }

  get topic(): string {
    return this.#options.topic;
  }

  /** Whether all partitions are ours. */
  get holdsAll(): boolean {
    return this.#held.length === this.#options.partitions;
  }

  get member(): Member {
    return [this.groupId, this.#generation, this.#memberId, this.#options.worker];
  }

  start(): void {
    this.#running ??= this.#run().catch((error: unknown) => {
      this.#lose();
      if (!this.#ending.signal.aborted) this.#hooks.failed(error);
      this.#roundEnded();
    });
  }

  /** A commit of this generation was refused: resolves when we have caught up with the group. */
  moved(generation: number): Promise<void> {
    if (this.#ending.signal.aborted || generation !== this.#generation) return Promise.resolve();
    const round = new Promise<void>((resolve) => this.#rounds.push(resolve));
    this.#rejoin = true;
    this.#wake();
    return round;
  }

  async end(): Promise<void> {
    this.#ending.abort();
    this.#wake();
    await this.#running;
    if (this.#memberId === '') return;
    // Best effort: a silent member is left out after its session.
    const leaving = [{ memberId: this.#memberId, groupInstanceId: this.#options.worker }];
    const limits = { patienceMs: LEAVE_MS, answerMs: LEAVE_MS };
    await this.#link
      .ask(this.#coordinator, leaveGroupV4.api, [this.groupId, leaving], limits)
      .catch(() => undefined);
  }

  get #coordinator(): Target {
    return { kind: 'coordinator', of: 'group', id: this.groupId };
  }

  async #run(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      try {
        await this.#round();
        await this.#stay();
      } catch (error) {
        const kind = kindOf(error);
        if (kind === 'FENCED_INSTANCE_ID') throw this.#fenced();
        if (!isGroupMoved(error)) throw error;
        if (kind !== 'REBALANCE_IN_PROGRESS') this.#forget();
      }
    }
  }

  /**
   * One round of joining: learns which partitions are ours, releases those that are not, and takes the new
   * ones.
   */
  async #round(): Promise<void> {
    this.#rejoin = false;
    const given = await this.#join();
    const leaving = this.#held.filter((partition) => !given.includes(partition));
    const coming = given.filter((partition) => !this.#held.includes(partition));
    this.#held = given;
    this.#roundEnded();
    const releasing = this.#release(leaving);
    if (coming.length > 0) await this.#alive(this.#hooks.gained(coming));
    await releasing;
  }

  /** Released while heartbeats continue; another round then reassigns them. */
  async #release(partitions: readonly number[]): Promise<void> {
    if (partitions.length === 0) return;
    await this.#alive(this.#hooks.released(partitions));
    this.#rejoin = true;
  }

  async #join(): Promise<readonly number[]> {
    const { worker, sessionMs, topic } = this.#options;
    const claim: Claim = {
      memberId: this.#memberId,
      generation: this.#generation,
      partitions: this.#held,
    };
    const protocols = [{ name: PROTOCOL, metadata: subscription(topic, claim) }];
    const times = [sessionMs, REBALANCE_MS] as const;
    const joined = await this.#link.ask(
      this.#coordinator,
      joinGroupV7.api,
      [this.groupId, ...times, this.#memberId, worker, PROTOCOL_TYPE, protocols],
      ROUND,
    );
    this.#memberId = joined.memberId ?? '';
    this.#generation = joined.generationId;
    const lead = joined.leader === joined.memberId && joined.members.length > 0;
    const assignments = lead ? this.#assignments(joined.members) : [];
    const synced = await this.#link.ask(
      this.#coordinator,
      syncGroupV5.api,
      [...this.member, PROTOCOL_TYPE, PROTOCOL, assignments],
      ROUND,
    );
    return partitionsIn(synced.assignment, topic);
  }

  #assignments(
    members: readonly { readonly memberId: string; readonly metadata: Buffer | null }[],
  ): { memberId: string; assignment: Buffer }[] {
    const { topic, partitions } = this.#options;
    const claims = members.map(({ memberId, metadata }) => ({ ...claimIn(metadata), memberId }));
    return [...assign(claims, partitions)].map(([memberId, own]) => {
      return { memberId, assignment: assignment(topic, own) };
    });
  }

  /** Sends heartbeats until it is time to join again. */
  async #stay(): Promise<void> {
    while (!this.#ending.signal.aborted && !this.#rejoin) {
      await this.#rest();
      if (!this.#ending.signal.aborted && !this.#rejoin) await this.#beat();
    }
  }

  /** Sends heartbeats while `work` runs. A rebalance that begins meanwhile waits for it. */
  async #alive(work: Promise<void>): Promise<void> {
    let done = false;
    const end = (): void => {
      done = true;
      this.#wake();
    };
    const ended = work.finally(end);
    ended.catch(() => undefined);
    while (!done && !this.#ending.signal.aborted) {
      await this.#rest();
      if (done) break;
      await this.#beat().catch((error: unknown) => {
        if (kindOf(error) !== 'REBALANCE_IN_PROGRESS') throw error;
        this.#rejoin = true;
      });
    }
    if (!this.#ending.signal.aborted) await ended;
  }

  async #rest(): Promise<void> {
    const waking = new AbortController();
    this.#wake = () => waking.abort();
    const either = eitherSignal([waking.signal, this.#ending.signal]);
    await pause(this.#options.heartbeatMs, either.signal);
    either.release();
    this.#wake = () => undefined;
  }

  async #beat(): Promise<void> {
    await this.#link.ask(this.#coordinator, heartbeatV4.api, [...this.member]);
  }

  /** The group does not know us any more: another member may own what was ours. */
  #forget(): void {
    this.#memberId = '';
    this.#generation = -1;
    this.#lose();
  }

  #lose(): void {
    const lost = this.#held;
    this.#held = [];
    if (lost.length > 0) this.#hooks.lost(lost);
  }

  #roundEnded(): void {
    const rounds = this.#rounds;
    this.#rounds = [];
    for (const resolve of rounds) resolve();
  }

  #fenced(): MillraceError {
    const { worker } = this.#options;
    return new MillraceError(
      'FENCED',
      `another process is reading as worker "${worker}" in group ${this.groupId}; this one stops, nothing is lost. ` +
        'To run both, give each its own name with --worker',
      { context: { worker, group: this.groupId } },
    );
  }
}

/**
 * What a member tells the group's leader, in the form that Kafka's tools can read (ConsumerProtocol, version
 * 0).
 */
function subscription(topic: string, claim: Claim): Buffer {
  return Writer.create()
    .appendInt16(0)
    .appendArray([topic], (writer, name) => void writer.appendString(name, false), false, false)
    .appendBytes(Buffer.from(JSON.stringify(claim)), false).buffer;
}

function claimIn(metadata: Buffer | null): Claim {
  const reader = Reader.from(metadata ?? Buffer.alloc(0));
  reader.readInt16();
  reader.readArray((each) => each.readString(false), false, false);
  return JSON.parse(reader.readBytes(false).toString('utf8')) as Claim;
}

function assignment(topic: string, partitions: readonly number[]): Buffer {
  const write = (writer: Writer, own: readonly number[]): void => {
    const one = (inner: Writer, partition: number): void => void inner.appendInt32(partition);
    writer.appendString(topic, false).appendArray([...own], one, false, false);
  };
  return Writer.create()
    .appendInt16(0)
    .appendArray([partitions], write, false, false)
    .appendBytes(Buffer.alloc(0), false).buffer;
}

/** None if the leader has said nothing. */
function partitionsIn(bytes: Buffer, topic: string): readonly number[] {
  if (bytes.length === 0) return [];
  const reader = Reader.from(bytes);
  reader.readInt16();
  const topics = reader.readArray(
    (each) =>
      [each.readString(false), each.readArray((of) => of.readInt32(), false, false)] as const,
    false,
    false,
  );
  return topics.find(([name]) => name === topic)?.[1] ?? [];
}
