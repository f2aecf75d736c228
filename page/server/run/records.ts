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
  /** Only these, through the log's index if it has one. */
  readonly only?: Only | undefined;
}

/** Everything in the range, which the caller bounds. */
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
 * Finds records by question or by key. With an index it reads only those records; without one it searches a
 * bounded number of the topic's newest records. So a page opens in bounded time however long its run is, and
 * says how much it read.
 */
export class Search {
  readonly #log: Log;
  readonly #moment: Moment;
  readonly #most: number;
  /**
   * Records that were read, out of these and the ones left out because there were too many. Records that an
   * index skips count as neither.
   */
  scanned = 0;
  of = 0;

  constructor(log: Log, moment: Moment, most: number) {
    this.#log = log;
    this.#moment = moment;
    this.#most = most;
  }

  /** Oldest first. `takes` decides: an index may return others. */
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

  /** Null if it would have to read more than the budget. */
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

/** The records at these places, by ref; missing ones are left out. */
export async function recordsAt<T>(
  log: Log,
  topic: Topic<T>,
  positions: readonly Position[],
): Promise<ReadonlyMap<string, Stored<T>>> {
  const found = new Map<string, Stored<T>>();
  const all = await log.fetch(topic, positions).catch(() => null);
  if (all !== null) for (const stored of all) found.set(refOf(stored.position), stored);
  else {
    // One of them cannot be read, so read them one by one.
    for (const position of positions) {
      const [stored] = await log.fetch(topic, [position]).catch(() => []);
      if (stored !== undefined) found.set(refOf(position), stored);
    }
  }
  return found;
}
