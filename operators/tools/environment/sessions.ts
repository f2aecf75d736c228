/**
 * The sessions that a job has with one OpenEnv server, as many at once as it and the server allow.
 *
 * A server says how many it has by refusing one more (`CAPACITY_REACHED`). Sessions of our own end when their
 * rollouts do, so for those a rollout waits without a limit; for sessions of others it waits `waitMs`.
 */
import { raceAbort } from '../../../base/index.ts';
import { EnvironmentSession, SessionLost, type SessionOptions } from './session.ts';
import type { Observed } from './wire.ts';

export interface SessionsOptions extends SessionOptions {
  /** Sessions at once. */
  readonly sessionsMax: number;
  /** Longest wait while others use all of the server's sessions. */
  readonly waitMs: number;
}

/** A session, and what its environment shows at the beginning. */
export interface Begun {
  readonly session: EnvironmentSession;
  readonly first: Observed;
}

/** Wait between two attempts on a full server. */
const PAUSE_MS: number = 100;
const PAUSE_MAX_MS = 5_000;

export class EnvironmentSessions {
  readonly #options: SessionsOptions;
  readonly #waiting: (() => void)[] = [];
  #sessionsMax: number;
  /** Sessions that are open, and those that are being opened. */
  #taken = 0;
  #open = 0;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#sessionsMax = options.sessionsMax;
  }

  /** Resets a new environment. Rejects with the signal's reason, or `SessionLost`. */
  async begin(reset: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Begun> {
    const { clock, waitMs } = this.#options;
    let waited = 0;
    for (let pause = PAUSE_MS; ; pause = Math.min(2 * pause, PAUSE_MAX_MS)) {
      await this.#enter(signal);
      const begun = await this.#attempt(reset, signal).catch((error: unknown) => {
        this.#leave();
        throw error;
      });
      if ('session' in begun) return begun;
      this.#sessionsMax = Math.max(1, Math.min(this.#sessionsMax, begun.max ?? this.#open));
      this.#leave();
      if (this.#open === 0) {
        if (waited >= waitMs) throw new SessionLost(`it had no free session for ${waitMs} ms`);
        waited += pause;
      }
      await clock.sleep(pause, signal);
    }
  }

  /** `max` = the server is full, and how many sessions it has. */
  async #attempt(
    reset: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<Begun | { readonly max: number | null }> {
    const session = await EnvironmentSession.open(this.#options, signal);
    try {
      const first = await session.ask({ type: 'reset', data: reset }, signal);
      if (first.kind === 'observed') {
        this.#open += 1;
        void session.closed.then(() => {
          this.#open -= 1;
          this.#leave();
        });
        return { session, first };
      }
      session.close();
      if (first.code === 'CAPACITY_REACHED') return { max: first.sessionsMax };
      throw new SessionLost(`it cannot be reset: ${first.message} (${first.code})`);
    } catch (error) {
      session.close();
      throw error;
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    while (this.#taken >= this.#sessionsMax) {
      let wake = (): void => undefined;
      const free = new Promise<void>((resolve) => {
        wake = resolve;
      });
      this.#waiting.push(wake);
      try {
        await raceAbort(free, signal);
      } catch (error) {
        // It may have been woken at the same moment: then wake the next one.
        const at = this.#waiting.indexOf(wake);
        if (at >= 0) this.#waiting.splice(at, 1);
        else this.#waiting.shift()?.();
        throw error;
      }
    }
    this.#taken += 1;
  }

  #leave(): void {
    this.#taken -= 1;
    this.#waiting.shift()?.();
  }
}
