/**
 * One topic of a tap, on its way to the reader: a queue that asks the log for no more than it has room for.
 *
 * What is not taken stays in the log, so a slow reader holds nothing in memory and loses nothing.
 */
import type { Observable, Subscription } from 'rxjs';
import { hasCode, type MillraceError } from '../../base/index.ts';
import type { Encoded, Stored, TapOptions } from '../../streams/index.ts';
import type { Position } from '../../topics/index.ts';

/** Below this many, read another stretch from the log. */
const WAITING_MAX = 256;

export interface Unreadable {
  readonly topic: string;
  readonly position: Position;
  readonly error: MillraceError;
  /** Null if the bytes are damaged. */
  readonly encoded: Encoded | null;
}

export interface QueueHooks {
  /** There is something to take, or nothing more will come. */
  changed(): void;
  unreadable(record: Unreadable): void;
}

interface Waiting {
  readonly stored: Stored<unknown>;
  readonly sinceMs: number;
}

export class TopicQueue {
  readonly topic: string;
  readonly #named: boolean;
  readonly #hooks: QueueHooks;
  /** From `#first` on. */
  #waiting: Waiting[] = [];
  #first = 0;
  /** Lets the log continue. */
  #release: (() => void) | null = null;
  #subscription: Subscription | null = null;
  #ahead: number | null = null;
  #ended = false;
  #failure: { readonly error: unknown } | null = null;
  #lacks: MillraceError | null = null;

  /** `named`: its topic was named, not just matched by a pattern. */
  constructor(topic: string, hooks: QueueHooks, named = true) {
    this.topic = topic;
    this.#named = named;
    this.#hooks = hooks;
  }

  start(tap: (options: Omit<TapOptions, 'from' | 'follow'>) => Observable<Stored<unknown>>): void {
    const records$ = tap({
      room: () => this.#room(),
      ahead: (records) => {
        this.#ahead = records;
        if (records === 0) this.#hooks.changed();
      },
      unreadable: (position, error, encoded) =>
        this.#hooks.unreadable({ topic: this.topic, position, error, encoded }),
    });
    this.#subscription = records$.subscribe({
      next: (stored) => {
        this.#waiting.push({ stored, sinceMs: performance.now() });
        if (this.#size === 1) this.#hooks.changed();
      },
      error: (error: unknown) => {
        if (!this.#named && hasCode(error, 'NOT_FOUND')) this.#lacks = error;
        else this.#failure = { error };
        this.#hooks.changed();
      },
      complete: () => {
        this.#ended = true;
        this.#hooks.changed();
      },
    });
  }

  /**
   * The next record, and since when it has been waiting (by `performance.now()`). Throws if the tap failed.
   */
  get head(): Waiting | undefined {
    const head = this.#waiting[this.#first];
    if (head === undefined && this.#failure !== null) throw this.#failure.error;
    return head;
  }

  /** The topic's extent is known. */
  get begun(): boolean {
    return this.#size > 0 || this.#ahead !== null || this.#ended || this.#lacks !== null;
  }

  /**
   * Why there is nothing to show for a topic that only a pattern matched: it lacks the requested partitions.
   */
  get lacks(): MillraceError | null {
    return this.#lacks;
  }

  /** Handles missing partitions: the tap continues without this topic, or fails. */
  passOver(goesOn: boolean): void {
    if (goesOn) this.#ended = true;
    else this.#failure = { error: this.#lacks };
    this.#lacks = null;
  }

  /** Nothing waits, and nothing more will come. */
  get over(): boolean {
    return this.#ended && this.#size === 0;
  }

  /** Nothing waits, and at the last look the log had nothing more. */
  get atEnd(): boolean {
    return this.#size === 0 && this.#ahead === 0;
  }

  /** Records between the last one taken and the end of the topic, as far as known. */
  get behind(): number {
    return this.#size + (this.#ahead ?? 0);
  }

  /** Takes the first record. */
  take(): Stored<unknown> {
    const { stored } = this.#waiting[this.#first]!;
    this.#first += 1;
    if (this.#first >= WAITING_MAX || this.#size === 0) {
      this.#waiting = this.#waiting.slice(this.#first);
      this.#first = 0;
    }
    if (this.#size < WAITING_MAX) {
      this.#release?.();
      this.#release = null;
    }
    return stored;
  }

  close(): void {
    this.#subscription?.unsubscribe();
    this.#release?.();
  }

  get #size(): number {
    return this.#waiting.length - this.#first;
  }

  #room(): Promise<void> | null {
    if (this.#size < WAITING_MAX) return null;
    return new Promise((resolve) => {
      this.#release = resolve;
    });
  }
}
