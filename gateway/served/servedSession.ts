/**
 * A session that arrived from outside: open until someone ends it, a reward arrives, or it has been idle for
 * a while. After that it answers no calls but still takes rewards.
 */
import { raceAbort } from '../../base/index.ts';
import type { FeedbackRecord } from '../../topics/index.ts';
import {
  GatewayRefusal,
  type ModelCall,
  type ModelReply,
  type ModelSession,
  type RewardSent,
} from '../conversation.ts';
import type { Session } from '../sessions/session.ts';
import type { FeedbackWriter } from './feedbackWriter.ts';

/** Rewards that a session takes; only the first counts. */
const REWARDS_MAX = 32;

export interface ServedSessionOptions {
  readonly id: string;
  /** Makes what answers its calls, starting after those it has already had. */
  readonly begin: () => Promise<Session>;
  readonly writer: FeedbackWriter;
  readonly now: () => number;
  /** Tokens in a prompt. */
  readonly count: (call: ModelCall) => number;
  /** Called when it has ended or has a reward. */
  readonly ended: (session: Session) => void;
  readonly rewarded: () => void;
}

export class ServedSession implements ModelSession {
  readonly id: string;
  readonly memory = new Map<string, unknown>();
  readonly #options: ServedSessionOptions;
  #session: Promise<Session> | null = null;
  #ending: Promise<void> | null = null;
  #busy = 0;
  #rewards = 0;
  #lastMs: number;
  /** When it ended; null = it is open. */
  endedMs: number | null;

  constructor(options: ServedSessionOptions, endedMs: number | null = null) {
    this.id = options.id;
    this.#options = options;
    this.#lastMs = options.now();
    this.endedMs = endedMs;
  }

  /** How long it has been idle; 0 while a call is being answered. */
  get idleMs(): number {
    return this.#busy > 0 ? 0 : this.#options.now() - this.#lastMs;
  }

  async call(call: ModelCall, digest: string, signal: AbortSignal): Promise<ModelReply> {
    if (this.endedMs !== null || this.#ending !== null) throw ended();
    this.#busy += 1;
    try {
      const session = await raceAbort(this.#begun(), signal);
      return await session.call(call, digest, signal);
    } finally {
      this.#busy -= 1;
      this.#lastMs = this.#options.now();
    }
  }

  count(call: ModelCall): number {
    return this.#options.count(call);
  }

  async reward(value: number, reason: string, { key, atMs }: RewardSent): Promise<void> {
    const { id: sessionId, now, writer, rewarded } = { ...this.#options };
    if (atMs !== null && atMs > now()) {
      throw new GatewayRefusal('invalid', 'at is in the future', 'at');
    }
    if (this.#rewards >= REWARDS_MAX) {
      throw new GatewayRefusal(
        'limit',
        `this session already has ${REWARDS_MAX} rewards, the maximum`,
      );
    }
    await this.end('reward');
    this.#rewards += 1;
    const when = atMs === null ? {} : { atMs };
    await writer.write({ sessionId, kind: 'reward', key, value, note: reason, ...when });
    rewarded();
  }

  /** `how` = by whom or what, for people. */
  async end(how = 'end'): Promise<void> {
    if (this.endedMs !== null) return;
    this.#ending ??= this.#end(how).catch((error: unknown) => {
      // Ending it twice is fine.
      this.#ending = null;
      throw error;
    });
    await this.#ending;
  }

  async #end(how: string): Promise<void> {
    const { id: sessionId, writer, now } = this.#options;
    const session = await this.#begun();
    await session.end();
    const endedMs = now();
    await writer.write({ sessionId, kind: 'ended', note: how, atMs: endedMs, ...endOf(session) });
    this.endedMs = endedMs;
    // All it holds in memory is in the log as well.
    this.#session = null;
    this.memory.clear();
    this.#options.ended(session);
  }

  #begun(): Promise<Session> {
    this.#session ??= this.#options.begin().catch((error: unknown) => {
      this.#session = null;
      throw error;
    });
    return this.#session;
  }
}

function endOf({
  calls,
  stop,
  failure,
}: Session): Pick<FeedbackRecord, 'calls' | 'stop' | 'failure'> {
  const asked = failure === '' ? '' : `the policy did not answer: ${failure}`;
  return {
    calls: calls.length,
    stop: stop ?? 'none',
    failure: calls.length > 0 ? asked : asked || 'it made no model call',
  };
}

function ended(): GatewayRefusal {
  return new GatewayRefusal('ended', 'this session has ended');
}
