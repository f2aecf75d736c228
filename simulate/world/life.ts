/**
 * The life of one process: from its start until it ends or is killed.
 *
 * A process that is killed does nothing any more: what it waits for never comes, what it had sent may have
 * arrived or not, and what it held in memory is gone. Its code cannot be taken off the stack, so everything
 * that it could do to the world asks here first.
 */
import type { SleepClock } from '../../base/index.ts';
import type { VirtualClock } from './virtualClock.ts';

/** Something that a process does; a crash may come at each. */
export type Point =
  | 'build'
  | 'commit'
  | 'committed'
  | 'generate'
  | 'generated'
  | 'load'
  | 'call'
  | 'called'
  | 'step'
  | 'stepped'
  | 'save'
  | 'saved'
  | 'restore'
  | 'archive'
  | 'read';

export interface LifeOptions {
  /** Of the process. */
  readonly name: string;
  readonly clock: VirtualClock;
  /** How far its wall clock is ahead of the world's, in milliseconds. */
  readonly aheadMs: () => number;
  /** Until when the process is stalled, if it is (a suspended machine); otherwise the current time. */
  readonly stillUntilMs: () => number;
  /** Called at each point; kills the process where it is to die. */
  readonly passed: (life: Life, point: Point) => void;
}

export class Life {
  readonly name: string;
  readonly clock: SleepClock;
  readonly #options: LifeOptions;
  readonly #ends = new Set<() => void>();
  /** Waits that cannot be cancelled, such as for a step of the trainer. */
  #endless = 0;
  #dead = false;

  constructor(options: LifeOptions) {
    this.name = options.name;
    this.#options = options;
    this.clock = {
      now: () => Math.floor(options.clock.now() + options.aheadMs()),
      sleep: (ms, signal) => this.#sleep(ms, signal),
    };
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** Subscriptions that have not ended, and timers that can be called off and run. */
  get open(): number {
    return this.#ends.size - this.#endless;
  }

  /** It does something. It may be dead afterwards. */
  passes(point: Point): void {
    if (!this.#dead) this.#options.passed(this, point);
  }

  kill(): void {
    if (this.#dead) return;
    this.#dead = true;
    for (const end of [...this.#ends]) end();
    this.#ends.clear();
  }

  /** Calls `end` when it is killed, unless the returned function is called before. */
  onDeath(end: () => void): () => void {
    this.#ends.add(end);
    return () => this.#ends.delete(end);
  }

  /** The result of `work`, for the living. */
  async living<T>(work: Promise<T>): Promise<T> {
    try {
      const result = await work;
      if (this.#dead) return await never();
      return result;
    } catch (error) {
      if (this.#dead) return never();
      throw error;
    }
  }

  async #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (this.#dead) return never();
    const { clock, stillUntilMs } = this.#options;
    await this.#wait(ms, signal);
    for (let untilMs = stillUntilMs(); untilMs > clock.now(); untilMs = stillUntilMs()) {
      await this.#wait(untilMs - clock.now(), signal);
    }
  }

  #wait(ms: number, signal?: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const cancel = clock.at(clock.now() + Math.max(0, ms), () => {
        over();
        resolve();
      });
      const abort = (): void => {
        over();
        reject(signal?.reason);
      };
      if (signal === undefined) this.#endless += 1;
      const over = (): void => {
        if (signal === undefined) this.#endless -= 1;
        cancel();
        forget();
        signal?.removeEventListener('abort', abort);
      };
      const forget = this.onDeath(over);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }
}

/** What the dead wait for. */
export function never(): Promise<never> {
  return new Promise(() => undefined);
}
