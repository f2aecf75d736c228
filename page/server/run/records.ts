/** Reads records of a topic for a page: a stretch of it, those about one question, those at given places. */
import { Subject, takeUntil } from 'rxjs';
import { messageOf } from '../../../base/index.ts';
import type { Encoded, From, Log, Only, Stored, Topic, Unindexed } from '../../../streams/index.ts';
import type { Position } from '../../../topics/index.ts';
import type { UnreadableRow } from '../../wire/index.ts';
import type { Moment } from './moment.ts';
import { refOf } from './refs.ts';

const HEX_BYTES = 64;

export interface Stretch<T> {
  readonly rows: readonly Stored<T>[];
  readonly unreadable: readonly UnreadableRow[];
}

export interface Between {
  readonly from: From;
  readonly to?: From | undefined;
  readonly partitions?: readonly number[];
  /** Only these, by the log's index if it has one. */
  readonly only?: Only | undefined;
}

/** Everything in the range. The caller bounds it. */
export async function stretch<T>(
  log: Log,
  topic: Topic<T>,
  { from, to, partitions, only }: Between,
): Promise<Stretch<T>> {
  const rows: Stored<T>[] = [];
  const unreadable: UnreadableRow[] = [];
  await log
    .tap(topic, {
      from,
      follow: false,
      ...(to === undefined ? {} : { to }),
      ...(partitions === undefined ? {} : { partitions }),
      ...(only === undefined ? {} : { only }),
      unreadable: (position, error, encoded) => {
        unreadable.push(unreadableRow(position, error, encoded));
      },
    })
    .forEach((stored) => void rows.push(stored));
  return { rows, unreadable };
}

export function unreadableRow(
  position: Position,
  error: unknown,
  encoded: Encoded | null,
): UnreadableRow {
  return {
    ref: refOf(position),
    reason: messageOf(error),
    schema: encoded?.schema ?? null,
    hex: encoded === null ? null : encoded.body.subarray(0, HEX_BYTES).toString('hex'),
  };
}

/**
 * Finds records by question or by key. If a log has an index it reads only those; if not, only a topic's
 * newest records, a bounded number, are searched: a page opens in bounded time however long its run is, and
 * says how much it read.
 */
export class Search {
  readonly #log: Log;
  readonly #moment: Moment;
  readonly #most: number;
  /**
   * Records that were read, of those and the ones that were left out since they were too many. What an index
   * skips is neither.
   */
  scanned = 0;
  of = 0;

  constructor(log: Log, moment: Moment, most: number) {
    this.#log = log;
    this.#moment = moment;
    this.#most = most;
  }

  /** Oldest first. `takes` has the last word: an index may give others. */
  async find<T>(topic: Topic<T>, only: Only, takes: (value: T) => boolean): Promise<Stored<T>[]> {
    const before = this.scanned;
    const isIndexed = this.#log.standing !== undefined;
    let found = isIndexed ? await this.#read(topic, only, takes, { kind: 'earliest' }) : null;
    let leftOut = 0;
    if (found === null) {
      leftOut = Math.max(0, (await this.#endOf(topic.name)) - this.#most);
      found = await this.#read(topic, only, takes, { kind: 'offset', offset: leftOut });
    }
    this.of += this.scanned - before + leftOut;
    return found ?? [];
  }

  /** Null if it would read more than the budget. */
  async #read<T>(
    topic: Topic<T>,
    only: Only,
    takes: (value: T) => boolean,
    from: From,
  ): Promise<Stored<T>[] | null> {
    const rows: Stored<T>[] = [];
    const tooMuch$ = new Subject<void>();
    let isTooMuch = false;
    const to = this.#moment.endOf(topic.name);
    const unindexed = (stretch: Unindexed): void => {
      if (from.kind !== 'earliest' || stretch.to - stretch.from <= this.#most) return;
      isTooMuch = true;
      tooMuch$.next();
    };
    const records$ = this.#log.tap(topic, {
      from,
      only,
      unindexed,
      follow: false,
      ...(to === undefined ? {} : { to }),
      unreadable: () => undefined,
    });
    await records$.pipe(takeUntil(tooMuch$)).forEach((stored) => {
      this.scanned += 1;
      if (takes(stored.value)) rows.push(stored);
    });
    return isTooMuch ? null : rows;
  }

  async #endOf(topic: string): Promise<number> {
    const known = this.#moment.recordsOf(topic);
    if (known !== null) return known;
    const stats = await this.#log.stats();
    return stats.find((stat) => stat.topic === topic)?.records ?? 0;
  }
}

/** The records at these places, by ref; those that are not there are left out. */
export async function recordsAt<T>(
  log: Log,
  topic: Topic<T>,
  positions: readonly Position[],
): Promise<ReadonlyMap<string, Stored<T>>> {
  const found = new Map<string, Stored<T>>();
  const all = await log.fetch(topic, positions).catch(() => null);
  if (all !== null) for (const stored of all) found.set(refOf(stored.position), stored);
  else {
    // One of them cannot be read: one by one, then.
    for (const position of positions) {
      const [stored] = await log.fetch(topic, [position]).catch(() => []);
      if (stored !== undefined) found.set(refOf(position), stored);
    }
  }
  return found;
}
