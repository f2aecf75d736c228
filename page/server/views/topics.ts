/**
 * The data of a topic: its records, newest first or from a place on, filtered on the server within a budget
 * that is shown.
 */

import { MillraceError } from '../../../base/index.ts';
import { shellWord, thousands } from '../../../base/text/index.ts';
import type { Stored, Topic } from '../../../streams/index.ts';
import type { TopicData, TopicsData, UnreadableRow } from '../../wire/index.ts';
import { Cursor } from '../run/cursor.ts';
import { limits } from '../run/limits.ts';
import { topicAt, topicsOf } from '../run/mill.ts';
import type { Moment } from '../run/moment.ts';
import { stretch } from '../run/records.ts';
import { positionIn } from '../run/refs.ts';
import type { RunView } from '../run/runView.ts';
import { keyOf, topicNamed } from '../run/topicList.ts';
import { rowOf } from '../run/topicRow.ts';
import { where } from '../run/where.ts';
import { type Asked, numberIn, type ServedView } from './asked.ts';

/** Records read at once. */
const STRETCH = 128;
/** If the partitions are unknown: those of this many of the last records. */
const LAST = 256;
const FIELDS_MAX = 60;

interface TopicAsked {
  /** A ref, or an offset vector as in `next`; undefined = the end, or the beginning for `on`. */
  readonly offset: string | undefined;
  readonly dir: 'back' | 'on';
  readonly where: string;
  readonly key: string | undefined;
  readonly limit: number;
  readonly full: boolean;
}

/** The list of topics, or the topic that the address names. */
export async function data(asked: Asked): Promise<TopicsData | TopicData> {
  return asked.id === '' ? topicsData(asked) : topic(asked);
}

export const other: ServedView['other'] = {
  ending: '.ndjson',
  type: 'application/x-ndjson; charset=utf-8',
  body: topicLines,
};

/** The rows of a topic, one per line. */
async function topicLines(asked: Asked): Promise<string> {
  const { rows } = await topic(asked);
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

async function topic({ view, moment, id, query }: Asked): Promise<TopicData> {
  const found = await topicNamed(view.viewed.log, id);
  const dir = query.get('dir') ?? 'back';
  if (dir !== 'back' && dir !== 'on') throw new MillraceError('USAGE', 'dir= takes back or on');
  const limit = Math.trunc(numberIn(query, 'limit') ?? limits.rowsDefault);
  if (limit < 1 || limit > limits.rowsMax) {
    throw new MillraceError('USAGE', `limit= takes 1 to ${thousands(limits.rowsMax)}`);
  }
  const full = query.get('full') === '1';
  if (full && limit > 1) throw new MillraceError('USAGE', 'full=1 needs limit=1');
  return topicData(view, found, moment, {
    offset: query.get('offset') ?? undefined,
    dir,
    where: query.get('where') ?? '',
    key: query.get('key') ?? undefined,
    limit,
    full,
  });
}

async function topicsData({ view, moment }: Asked): Promise<TopicsData> {
  const { mill } = await view.look();
  return {
    ...(await view.frame(moment, `millrace topics ${view.viewed.name}`)),
    topics: mill.topics.map((topic) => topicAt(topic, moment)),
  };
}

async function topicData(
  view: RunView,
  topic: Topic<unknown>,
  moment: Moment,
  asked: TopicAsked,
): Promise<TopicData> {
  const { log, name: run } = view.viewed;
  const stats = (await log.stats()).filter((stat) => stat.topic === topic.name);
  const size = stats.length > 0 ? stats : [{ topic: topic.name, records: 0, bytes: 0, lag: {} }];
  const about = topicAt(topicsOf(size, view.history)[0]!, moment);
  const filter = asked.where === '' ? null : where(asked.where, topic.name);
  const reading = new Reading(view, topic, moment, about.records);
  const takes = (stored: Stored<unknown>): boolean =>
    (asked.key === undefined || stored.key === asked.key) && (filter?.matches(stored) ?? true);
  await reading.read(asked, takes);
  const one = asked.limit === 1;
  const textMax = asked.full ? limits.textFull : one ? limits.textInRecord : limits.textInRow;
  const rows = reading.rows.map((stored) => rowOf(stored, { run, textMax }));
  return {
    ...(await view.frame(moment, commandOf(`millrace tap ${run}.${topic.name}`, asked))),
    topic: about,
    keyIs: keyOf(topic.name),
    fields: reading.rows.length === 0 ? [] : fieldsOf(reading.rows[0]!.value),
    dir: asked.dir,
    where: filter?.text ?? '',
    rows,
    unreadable: reading.unreadable,
    scanned: reading.scanned,
    of: about.records,
    next: reading.next === null ? null : `offset=${reading.next}&dir=${asked.dir}`,
  };
}

/** The command has a different language for expressions, so this one is left out. */
function commandOf(tap: string, { offset, dir, key, limit }: TopicAsked): string {
  const from = offset !== undefined && /^\d+$/.test(offset) && dir === 'on' ? offset : `-${limit}`;
  return `${tap} --from ${from}${key === undefined ? '' : ` --key ${shellWord(key)}`} -n ${limit}`;
}

/** Reads stretches until enough is found or the budget is used up. */
class Reading {
  readonly #view: RunView;
  readonly #topic: Topic<unknown>;
  readonly #moment: Moment;
  readonly #records: number;
  readonly rows: Stored<unknown>[] = [];
  readonly unreadable: UnreadableRow[] = [];
  scanned = 0;
  next: string | null = null;

  constructor(view: RunView, topic: Topic<unknown>, moment: Moment, records: number) {
    this.#view = view;
    this.#topic = topic;
    this.#moment = moment;
    this.#records = records;
  }

  async read(asked: TopicAsked, takes: (stored: Stored<unknown>) => boolean): Promise<void> {
    const ends = await this.#ends();
    const places = placesIn(asked, ends);
    const { limit, dir } = asked;
    const most =
      asked.key !== undefined
        ? limits.scanMax
        : asked.where !== ''
          ? STRETCH
          : Math.min(STRETCH, limit);
    while (places.size > 0 && this.rows.length < limit && this.scanned < limits.scanMax) {
      for (const [partition, place] of [...places]) {
        const end = ends.get(partition) ?? place;
        const span =
          dir === 'back'
            ? { from: Math.max(0, place - most), to: place }
            : { from: place, to: Math.min(end, place + most) };
        if (span.from >= span.to) {
          places.delete(partition);
          continue;
        }
        const stopped = await this.#span(partition, span, asked, takes);
        places.set(partition, stopped);
        if (this.rows.length >= limit) break;
      }
    }
    const left = [...places].filter(([partition, place]) =>
      dir === 'back' ? place > 0 : place < (ends.get(partition) ?? 0),
    );
    if (left.length === 0) return;
    // Going back, a place is that of the first record to be read.
    const vector = left.map(([p, place]) => `${p}-${dir === 'back' ? place - 1 : place}`);
    this.next = left.length === 1 && left[0]![0] === 0 ? vector[0]!.slice(2) : vector.join('.');
  }

  /** Where it stopped: going back, the end of what is still to be read; going on, the beginning. */
  async #span(
    partition: number,
    { from, to }: { readonly from: number; readonly to: number },
    { dir, limit, key }: TopicAsked,
    takes: (stored: Stored<unknown>) => boolean,
  ): Promise<number> {
    const { log } = this.#view.viewed;
    const { rows, unreadable } = await stretch(log, this.#topic, {
      only: key === undefined ? undefined : { keys: [key] },
      from: { kind: 'offset', offset: from },
      to: { kind: 'offset', offset: to },
      partitions: [partition],
    });
    this.unreadable.push(...unreadable);
    const isIndexed = key !== undefined && log.standing !== undefined;
    this.scanned += key !== undefined && !isIndexed ? to - from : unreadable.length;
    for (const stored of dir === 'back' ? [...rows].reverse() : rows) {
      if (key === undefined || isIndexed) this.scanned += 1;
      if (takes(stored)) this.rows.push(stored);
      const { offset } = stored.position;
      if (this.rows.length >= limit) return dir === 'back' ? offset : offset + 1;
    }
    return dir === 'back' ? from : to;
  }

  /** The first offset after each partition. */
  async #ends(): Promise<ReadonlyMap<number, number>> {
    const { log } = this.#view.viewed;
    if (log.standing !== undefined) return new Map([[0, this.#records]]);
    const to = this.#moment.endOf(this.#topic.name);
    const { rows } = await stretch(log, this.#topic, { from: { kind: 'last', count: LAST }, to });
    const ends = new Map<number, number>();
    for (const { position } of rows) {
      const end = ends.get(position.partition) ?? 0;
      ends.set(position.partition, Math.max(end, position.offset + 1));
    }
    return ends;
  }
}

/**
 * By partition: going back, the end of what is to be read; going on, the beginning. Fails with code `USAGE`.
 */
function placesIn(
  { offset, dir }: TopicAsked,
  ends: ReadonlyMap<number, number>,
): Map<number, number> {
  if (offset === undefined) {
    return dir === 'back' ? new Map(ends) : new Map([...ends.keys()].map((p) => [p, 0]));
  }
  const one = positionIn(offset);
  const given =
    one === null ? Cursor.parse(offset)?.partitions : [[one.partition, one.offset] as const];
  if (given === undefined) {
    throw new MillraceError('USAGE', 'offset= takes an offset: 812, or 2-812 in partition 2');
  }
  const past = dir === 'back' ? 1 : 0;
  return new Map(
    [...given].map(([p, at]) => [p, Math.min(at + past, ends.get(p) ?? at + past)] as const),
  );
}

/** Dotted names of a record's fields, for `where=`. */
function fieldsOf(value: unknown): string[] {
  const names: string[] = [];
  const visit = (part: unknown, under: string, depth: number): void => {
    if (names.length >= FIELDS_MAX || ArrayBuffer.isView(part)) return;
    if (Array.isArray(part)) {
      if (part.length > 0) visit(part[0], under, depth);
      return;
    }
    if (typeof part !== 'object' || part === null || depth > 3) {
      if (under !== '' && !names.includes(under)) names.push(under);
      return;
    }
    for (const [name, inner] of Object.entries(part)) {
      visit(inner, under === '' ? name : `${under}.${name}`, depth + 1);
    }
  };
  visit(value, '', 0);
  return names;
}
