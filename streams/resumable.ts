/**
 * Sources that know where they are, for input that has no end and cannot be read from its beginning again.
 *
 * Each item of such a source has the place after it, its cursor: a text that only the source reads. The log
 * keeps the cursor in the same commit as the record, and a resumed run asks the source to go on there. So
 * every item is in the log once, whenever the process was killed, as long as the source gives after a cursor
 * what it would have given then.
 *
 * Input of several parts that move by themselves (the partitions of a topic, the files of a folder) has a
 * cursor for each; a commit writes those that moved, and a cursor is looked up when its part is met, so there
 * may be many.
 */
import { isObservable, map, type Observable } from 'rxjs';
import type { SourceItem } from './sourceItem.ts';
import type { Topic } from './topic.ts';

/** The places after an item, for each part that it advances. */
export type Cursors = Readonly<Record<string, string>>;

/** A record besides the source's own items. */
export interface Beside {
  readonly topic: Topic<unknown>;
  readonly value: unknown;
}

/** A record of a topic, to ride on what a source yields. */
export function beside<T>(topic: Topic<T>, value: T): Beside {
  return { topic: topic as Topic<unknown>, value };
}

/** Where the source is after an item. An item that is only this advances the source and appends nothing. */
export interface Place {
  readonly at: Cursors;
  /** Records of other topics written in the commit that advances the source. */
  readonly also?: readonly Beside[];
  /** Called once the item and its place are in the log: what an answer to a sender waits for. */
  readonly committed?: () => void;
}

/** What a resumable source yields: an item and the place after it, or just a place. */
export type ResumableItem<T> = Place | (Place & SourceItem<T>);

/** How a resumable source is opened. */
export interface Opening {
  /** The last cursor of a part that is in the log; null: begin at its beginning. */
  readonly cursor: (part: string) => Promise<string | null>;
  /** Aborts when nothing more is wanted: close files, sockets and timers, and end. */
  readonly signal: AbortSignal;
}

/** Items and their places, as they come. */
export type ResumableItems<T> = AsyncIterable<ResumableItem<T>> | Observable<ResumableItem<T>>;

/**
 * A source that continues where it was. It is opened when a run begins to read from it, and costs nothing
 * before.
 */
export interface Resumable<T> {
  readonly kind: 'resumable';
  open(opening: Opening): ResumableItems<T> | Promise<ResumableItems<T>>;
}

/** An item of a source of one part, and its cursor. */
export type CursorItem<T> = SourceItem<T> & { readonly cursor: string };

/** Items and their cursors, as they come. */
export type CursorItems<T> = AsyncIterable<CursorItem<T>> | Observable<CursorItem<T>>;

/** The part of a source that has only one. */
const WHOLE = '';

/**
 * A resumable source of an async generator, or of an Observable, that can begin after a cursor:
 *
 *     source('orders', orders, resumable((cursor) => rowsAfter(Number(cursor ?? 0))))
 *
 * where `rowsAfter` yields `{ value, cursor }` or `{ deadLetter, cursor }`. The next item of an async
 * generator is requested when there is room for it; an Observable cannot be made to wait
 * (`SourceOptions.bufferMax`). `signal` aborts when nothing more is wanted.
 */
export function resumable<T>(
  from: (cursor: string | null, signal: AbortSignal) => CursorItems<T>,
): Resumable<T> {
  return {
    kind: 'resumable',
    async open({ cursor, signal }) {
      const items = from(await cursor(WHOLE), signal);
      return isObservable(items) ? items.pipe(map(withPlace)) : eachWithPlace(items);
    },
  };
}

/** Whether these items come from a source that knows where it is. */
export function isResumable(items: unknown): items is Resumable<unknown> {
  return (items as Partial<Resumable<unknown>>).kind === 'resumable';
}

async function* eachWithPlace<T>(
  items: AsyncIterable<CursorItem<T>>,
): AsyncGenerator<ResumableItem<T>> {
  for await (const item of items) yield withPlace(item);
}

function withPlace<T>({ cursor, ...item }: CursorItem<T>): ResumableItem<T> {
  return { ...(item as SourceItem<T>), at: { [WHOLE]: cursor } };
}
