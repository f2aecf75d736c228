/**
 * Sessions that arrive from outside, for example from production: a caller with the gateway's key opens one
 * and gets its calls answered by the newest policy. Every event of a session (its beginning, its end, its
 * rewards) is in the topic `feedback` before the caller hears that it was taken; a restarted gateway goes on
 * from there.
 *
 * Bounded: sessions that are open or wait for a reward, rewards of a session, and events that wait to be
 * written.
 */
import { type DrawKey, every, LruCache, type SleepClock } from '../../base/index.ts';
import type { PolicyEngine, Sampling } from '../../model/index.ts';
import type { FeedbackRecord, ModelCallRecord } from '../../topics/index.ts';
import { questionIdOf } from '../../topics/index.ts';
import {
  GatewayRefusal,
  type ModelSession,
  type ModelSessions,
  type OpenedSession,
} from '../conversation.ts';
import type { PolicyChat } from '../sessions/policyChat.ts';
import { Session, type SessionLimits } from '../sessions/session.ts';
import { FeedbackWriter } from './feedbackWriter.ts';
import { overAt, type RewardWindow } from './rewardWindow.ts';
import { ServedSession } from './servedSession.ts';
import { SERVED, type SessionKeys } from './sessionKeys.ts';

/** What served sessions are made with. */
export interface ServedOptions {
  readonly model: string;
  readonly keys: SessionKeys;
  readonly chat: PolicyChat;
  /** Answers with the newest weights. */
  readonly engine: PolicyEngine;
  readonly sampling: Sampling;
  readonly seed: number;
  readonly limits: SessionLimits;
  readonly window: RewardWindow;
  /** A session idle for this long has ended. */
  readonly idleMs: number;
  /** Most sessions that are open or wait for a reward. */
  readonly sessionsMax: number;
  readonly clock: SleepClock;
  /** Commits a call. */
  readonly commit: (record: ModelCallRecord) => Promise<void>;
  /** The calls that a session has had. */
  readonly callsOf: (id: string) => Promise<readonly ModelCallRecord[]>;
  /** Called for each session that has ended. */
  readonly see: (session: Session) => void;
  readonly failed: (error: unknown) => void;
}

/** The shortest and longest time between two looks at what has expired. */
const LOOK_MS = { min: 250, max: 5_000 };
/**
 * Ended sessions that can still get a late reward; beyond these the oldest are forgotten, though their keys
 * stay valid.
 */
const OVER_MAX = 10_000;

export class ServedSessions implements ModelSessions {
  readonly models: readonly string[];
  readonly writer: FeedbackWriter;
  readonly #options: ServedOptions;
  /** Open, or waiting for a reward. */
  readonly #known = new Map<string, ServedSession>();
  readonly #over = new LruCache<ServedSession>(OVER_MAX);
  #signal: AbortSignal = new AbortController().signal;

  constructor(options: ServedOptions) {
    this.models = [options.model];
    this.#options = options;
    this.writer = new FeedbackWriter(options.clock);
  }

  /** Takes in the topic's records in order. */
  remember(record: FeedbackRecord): void {
    this.writer.seen(record);
    const { sessionId: id, kind, atMs } = record;
    if (kind === 'opened') this.#known.set(id, this.#made(id));
    if (kind === 'ended' && this.#known.has(id)) this.#known.set(id, this.#made(id, atMs));
    const isOver = kind === 'reward' || kind === 'expired' || (kind === 'ended' && !this.#waits);
    if (isOver) this.#settle(id);
  }

  /** Ends sessions whose time is up, until the signal aborts. */
  begin(signal: AbortSignal): void {
    this.#signal = signal;
    const { clock, idleMs, window, failed } = this.#options;
    const each = Math.min(idleMs, window.rewardMs || idleMs) / 4;
    const ms = Math.min(LOOK_MS.max, Math.max(LOOK_MS.min, each));
    const stop = every(clock, ms, () => {
      this.#look().catch(failed);
    });
    signal.addEventListener('abort', stop, { once: true });
  }

  session(key: string): ModelSession {
    const { keys } = this.#options;
    if (keys.isGateway(key)) {
      throw new GatewayRefusal(
        'key',
        'this is the gateway’s key: open a session with POST /v1/sessions, and use its key',
      );
    }
    const id = keys.idOf(key);
    if (id === null) throw new GatewayRefusal('key', 'no session has this key');
    return this.#known.get(id) ?? this.#ended(id);
  }

  async openNamed({
    key,
    question,
    name,
  }: Parameters<NonNullable<ModelSessions['openNamed']>>[0]): Promise<OpenedSession> {
    const { keys, sessionsMax } = this.#options;
    if (!keys.isGateway(key)) {
      throw new GatewayRefusal(
        'key',
        'only the gateway’s key opens sessions, and this is a different key',
      );
    }
    const id = keys.idNamed(name);
    const opened = { id, key: keys.keyOf(id) };
    if (!this.#known.has(id)) {
      // Its calls are refused: it was opened before and is over.
      if (this.writer.wasOpened(id)) return opened;
      if (this.#known.size >= sessionsMax) {
        const words = `${sessionsMax} sessions are open or waiting for a reward; try again later`;
        throw new GatewayRefusal('unavailable', words);
      }
      this.#known.set(id, this.#made(id));
    }
    try {
      await this.writer.write({ sessionId: id, kind: 'opened', note: question });
    } catch (error) {
      this.#known.delete(id);
      throw error;
    }
    return opened;
  }

  /** Whether rewards are waited for at all. */
  get #waits(): boolean {
    return this.#options.window.rewardMs > 0;
  }

  #made(id: string, endedMs: number | null = null): ServedSession {
    const { clock, chat, see } = this.#options;
    return new ServedSession(
      {
        ...{ id, writer: this.writer, now: () => clock.now() },
        begin: () => this.#begun(id),
        count: ({ messages, tools }) => chat.whole(messages, tools).length,
        ended: (session) => {
          see(session);
          if (!this.#waits) this.#settle(id);
        },
        rewarded: () => this.#settle(id),
      },
      endedMs,
    );
  }

  async #begun(id: string): Promise<Session> {
    const { chat, engine, sampling, seed, limits, clock, commit, callsOf } = this.#options;
    const questionId = questionIdOf(id);
    const { phase, round, index } = SERVED;
    const draws: DrawKey[] = [seed, questionId, phase, round, index];
    return new Session({
      ...{ id, questionId, chat, engine, sampling, draws, limits, clock, commit },
      resumed: await callsOf(id),
      signal: this.#signal,
    });
  }

  /** A session that is over, with a valid key. */
  #ended(id: string): ServedSession {
    const known = this.#over.get(id);
    if (known !== undefined) return known;
    const session = this.#made(id, 0);
    this.#over.set(id, session);
    return session;
  }

  /** Nothing that arrives for it counts any more. */
  #settle(id: string): void {
    const session = this.#known.get(id);
    if (session === undefined || session.endedMs === null) return;
    this.#known.delete(id);
    this.#over.set(id, session);
  }

  async #look(): Promise<void> {
    const { idleMs, window, clock } = this.#options;
    for (const [id, session] of [...this.#known]) {
      if (session.endedMs === null) {
        if (session.idleMs >= idleMs) await session.end('idle');
      } else if (clock.now() >= overAt(session.endedMs, window)) {
        await this.writer.write({ sessionId: id, kind: 'expired' });
        this.#settle(id);
      }
    }
  }
}
