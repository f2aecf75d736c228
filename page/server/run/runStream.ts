/**
 * What one reader of the stream gets about one run: new values of the metrics it asked for, the mill, how far
 * topics are, and changes of its state.
 *
 * It holds state and no queue: what is not taken is merged into the newest, and only a bounded number of
 * values is kept before the reader has to read again.
 */

import type { Subscription } from 'rxjs';
import { counted } from '../../../base/text/index.ts';
import { topics } from '../../../topics/index.ts';
import type { Heads, Mill, Points, RunHead, StateChange, StreamEvents } from '../../wire/index.ts';
import type { Cursor } from './cursor.ts';
import { stretch } from './records.ts';
import type { NewSample, RunView } from './runView.ts';

/** An event with its name. */
export type StreamEvent = {
  readonly [K in keyof StreamEvents]: { readonly event: K; readonly data: StreamEvents[K] };
}[keyof StreamEvents];

/**
 * Most values that wait for a reader, over all its metrics; and most values read again for one that comes
 * back.
 */
const WAITING_MAX = 5_000;
const MISSED_MAX = 20_000;

type Point = Points['series'][string][number];

export class RunStream {
  readonly name: string;
  readonly #view: RunView;
  readonly #wanted: ReadonlySet<string>;
  readonly #subscription: Subscription;
  #waiting = new Map<string, Point[]>();
  #count = 0;
  #lost = false;
  #sent: Cursor;
  #mill = '';
  #ends: Readonly<Record<string, number>> | null = null;
  #head: RunHead | null = null;
  #deadLetters = 0;

  /** From `since` on; null = from now. */
  constructor(view: RunView, wanted: readonly string[]) {
    this.#view = view;
    this.name = view.viewed.name;
    this.#wanted = new Set(wanted);
    this.#sent = view.cursor.copy();
    this.#subscription = view.samples$.subscribe((sample) => this.#add(sample));
  }

  /** The reader's place. */
  get cursor(): string {
    return `${this.name}@${this.#sent.text}`;
  }

  /** What a reader at `since` has missed; call it once, first. */
  async missed(since: Cursor): Promise<readonly StreamEvent[]> {
    const until = this.#sent;
    const found: NewSample[] = [];
    let records = 0;
    for (const [partition, end] of until.partitions) {
      const from = since.partitions.get(partition) ?? 0;
      if (from < end) records += end - from;
    }
    if (records > MISSED_MAX)
      return [this.#reset(`${counted(records, 'value')} arrived meanwhile`)];
    for (const [partition, end] of until.partitions) {
      const from = since.partitions.get(partition) ?? 0;
      if (from >= end || this.#wanted.size === 0) continue;
      const { rows } = await stretch(this.#view.viewed.log, topics.metrics, {
        from: { kind: 'offset', offset: from },
        to: { kind: 'offset', offset: end },
        partitions: [partition],
      });
      for (const { value } of rows) {
        const tokens = this.#view.book.series(value.name)?.tokensAt(value.step) ?? 0;
        const { step, atMs } = value;
        found.push({ name: value.name, sample: { step, atMs, tokens, value: value.value } });
      }
    }
    const series: Record<string, Point[]> = {};
    for (const sample of found) {
      if (!this.#wanted.has(sample.name)) continue;
      series[sample.name] ??= [];
      series[sample.name]!.push(pointOf(sample));
    }
    if (Object.keys(series).length === 0) return [];
    return [{ event: 'points', data: { run: this.name, series, merged: 0 } }];
  }

  /** `merged` = ticks that were not sent since the last one. */
  points(merged: number): readonly StreamEvent[] {
    this.#sent = this.#view.cursor.copy();
    if (this.#lost) {
      this.#clear();
      return [this.#reset('values arrived faster than they were read')];
    }
    if (this.#count === 0) return [];
    const series = Object.fromEntries(this.#waiting);
    this.#clear();
    return [{ event: 'points', data: { run: this.name, series, merged } }];
  }

  /** Once a second: the mill, how far topics are, and what changed; only what is new. */
  async state(): Promise<readonly StreamEvent[]> {
    const { mill } = await this.#view.look();
    const head = await this.#view.head();
    const events: StreamEvent[] = this.#changes(head, mill).map((data) => ({
      event: 'state',
      data,
    }));
    const known = JSON.stringify(timeless(mill));
    if (known !== this.#mill) {
      this.#mill = known;
      events.push({ event: 'mill', data: mill });
    }
    const ends = Object.fromEntries(mill.topics.map(({ name, records }) => [name, records]));
    const grown = Object.fromEntries(
      Object.entries(ends).filter(([topic, end]) => this.#ends?.[topic] !== end),
    );
    if (Object.keys(grown).length > 0) {
      const data: Heads = { run: this.name, ends: grown };
      events.push({ event: 'head', data });
    }
    this.#ends = ends;
    return events;
  }

  close(): void {
    this.#subscription.unsubscribe();
    this.#clear();
  }

  #add(sample: NewSample): void {
    if (!this.#wanted.has(sample.name) || this.#lost) return;
    if (this.#count >= WAITING_MAX) {
      this.#clear();
      this.#lost = true;
      return;
    }
    this.#count += 1;
    const points = this.#waiting.get(sample.name);
    if (points === undefined) this.#waiting.set(sample.name, [pointOf(sample)]);
    else points.push(pointOf(sample));
  }

  #clear(): void {
    this.#waiting = new Map();
    this.#count = 0;
    this.#lost = false;
  }

  #reset(why: string): StreamEvent {
    return { event: 'reset', data: { run: this.name, why } };
  }

  #changes(head: RunHead, mill: Mill): StateChange[] {
    const before = this.#head;
    const deadBefore = this.#deadLetters;
    this.#head = head;
    this.#deadLetters = recordsOf(mill, topics.deadLetters.name);
    if (before === null) return [];
    const change = (kind: StateChange['kind'], text: string): StateChange => {
      return { run: this.name, atMs: mill.atMs, kind, text, head };
    };
    const changes: StateChange[] = [];
    if (head.state !== before.state) {
      const { kind, text } = stateChange(before, head);
      changes.push(change(kind, text));
    }
    if (head.version !== before.version && head.version !== null) {
      changes.push(change('weights', `Step ${head.step ?? 0} made version ${head.version}.`));
    }
    const dead = this.#deadLetters - deadBefore;
    if (dead > 0) changes.push(change('deadLetter', `${counted(dead, 'new dead letter')}.`));
    return changes;
  }
}

function pointOf({ sample: { step, atMs, tokens, value } }: NewSample): Point {
  return [step, atMs, tokens, Number.isFinite(value) ? value : null];
}

function recordsOf({ topics: all }: Mill, topic: string): number {
  return all.find(({ name }) => name === topic)?.records ?? 0;
}

/** Without the fields that change as time passes. */
function timeless(mill: Mill): Mill {
  const isLive = mill.rates === 'now';
  const workers = mill.workers.map((worker) => ({ ...worker, silentMs: 0 }));
  return isLive ? mill : { ...mill, atMs: 0, workers };
}

function stateChange(before: RunHead, head: RunHead): Pick<StateChange, 'kind' | 'text'> {
  const { state, stateText } = head;
  const more = stateText === '' ? '' : `: ${stateText}`;
  switch (state) {
    case 'live':
      return before.state === 'waiting'
        ? { kind: 'started', text: 'The run has started.' }
        : { kind: 'resumed', text: 'The run has resumed.' };
    case 'paused':
      return { kind: 'paused', text: `The run is paused${more}.` };
    case 'damaged':
      return { kind: 'failed', text: `The run is damaged${more}.` };
    case 'waiting':
      return { kind: 'started', text: 'The run is starting.' };
    case 'unknown':
    case 'silent':
      return { kind: 'silent', text: `The run is silent${more}.` };
    case 'done':
      return { kind: 'finished', text: 'The run has finished.' };
    case 'stopped':
      return { kind: 'stopped', text: `The run was stopped${more}.` };
    case 'failed':
      return { kind: 'failed', text: `The run has failed${more}.` };
  }
}
