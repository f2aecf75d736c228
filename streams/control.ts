/**
 * The commands to a running run, read from its `control` topic: settings that change, pause,
 * resume, stop.
 *
 * Settings are counted: "the first n changes" is the same in every process and in every replay. The last
 * command decides whether the run is paused, even one from before the start; a stop is for the processes that
 * run when it is written. The topic has few records, and all are held in memory.
 */
import { BehaviorSubject, filter, firstValueFrom, type Observable, toArray } from 'rxjs';
import { raceAbort } from '../base/index.ts';
import { type ControlRecord, controlTopic } from './controlTopic.ts';
import { isUnreadable } from './deliveries/deadLetter.ts';
import type { Log, TapOptions } from './log.ts';

/** Settings by name, with the values that they were changed to. */
export type Changes = Readonly<Record<string, unknown>>;

/** One change of a setting. */
export interface SettingChange {
  readonly setting: string;
  readonly value: unknown;
}

/** The commands to a run, as far as this process has read them. */
export interface Control {
  /** Changes of settings that are known here. */
  readonly count: number;
  /** Changes `begin` (from 0) up to `end`, which must be known. */
  since(begin: number, end: number): readonly SettingChange[];
  /** The outcome of the first `count` changes, which must be known. */
  changes(count: number): Changes;
  /** Resolves once `count` changes are known; rejects when `signal` aborts first. */
  known(count: number, signal: AbortSignal): Promise<void>;
  /** Whether new work must wait: now, and whenever that changes. */
  readonly paused$: Observable<boolean>;
  readonly paused: boolean;
  /** Resolves once the run is not paused; rejects if `signal` aborts first. */
  going(signal: AbortSignal): Promise<void>;
  /** Aborted by the command to stop. */
  readonly stop: AbortSignal;
  close(): Promise<void>;
}

/** Follows the topic; resolves once everything now in it is read. */
export async function followControl(log: Log): Promise<Control> {
  const control = new Followed();
  const from = { kind: 'earliest' } as const;
  const known = await firstValueFrom(
    log.tap(controlTopic, { from, follow: false, unreadable }).pipe(toArray()),
  );
  for (const { value } of known) control.take(value, false);
  const offset = (known.at(-1)?.position.offset ?? -1) + 1;
  const following = log
    .tap(controlTopic, { from: { kind: 'offset', offset }, follow: true, unreadable })
    .subscribe({ next: ({ value }) => control.take(value, true), error: (e) => control.fail(e) });
  control.end = () => following.unsubscribe();
  return control;
}

const unreadable: NonNullable<TapOptions['unreadable']> = (_position, error) => {
  if (!isUnreadable(error)) throw error;
};

class Followed implements Control {
  end = (): void => undefined;
  /** After each change, the outcome of all up to it. */
  readonly #changes: Changes[] = [{}];
  readonly #each: SettingChange[] = [];
  readonly #ids = new Set<string>();
  readonly #paused = new BehaviorSubject(false);
  readonly #stop = new AbortController();
  readonly #news = new BehaviorSubject<null>(null);

  get count(): number {
    return this.#changes.length - 1;
  }

  get paused(): boolean {
    return this.#paused.value;
  }

  get paused$(): Observable<boolean> {
    return this.#paused;
  }

  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  take({ id, kind, setting, value }: ControlRecord, live: boolean): void {
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    if (kind === 'set') {
      const change: SettingChange = { setting, value: JSON.parse(value) as unknown };
      this.#each.push(change);
      this.#changes.push({ ...this.#changes.at(-1), [setting]: change.value });
    } else if (kind === 'stop') {
      if (live) this.#stop.abort();
    } else if (this.paused !== (kind === 'pause')) this.#paused.next(kind === 'pause');
    this.#news.next(null);
  }

  fail(error: unknown): void {
    this.#news.error(error);
  }

  since(begin: number, end: number): readonly SettingChange[] {
    return this.#each.slice(begin, end);
  }

  changes(count: number): Changes {
    const changes = this.#changes[count];
    if (changes !== undefined) return changes;
    throw new Error(`only ${this.count} of ${count} setting changes are known`);
  }

  known(count: number, signal: AbortSignal): Promise<void> {
    return this.#when(() => this.count >= count, signal);
  }

  going(signal: AbortSignal): Promise<void> {
    return this.#when(() => !this.paused, signal);
  }

  async #when(is: () => boolean, signal: AbortSignal): Promise<void> {
    if (is()) return;
    await raceAbort(firstValueFrom(this.#news.pipe(filter(is))), signal);
  }

  async close(): Promise<void> {
    this.end();
  }
}
