/**
 * The records of a topic as an async iterable, read a page at a time when they are asked for.
 *
 * A tap pushes; this pulls. What replays a topic into a source uses it, so that a long topic never lies
 * in memory. For topics with one partition, as the embedded log has them.
 */
import { fromEvent, lastValueFrom, take, takeUntil, toArray } from 'rxjs';
import type { From, Log, Stored } from './log.ts';
import type { Topic } from './topic.ts';

export interface RecordsOptions {
  readonly from: From;
  /** Wait at the end for more, until this signal aborts; without it the iterable ends there. */
  readonly followUntil?: AbortSignal;
}

const PAGE = 64;

export async function* recordsOf<T>(
  log: Log,
  topic: Topic<T>,
  { from, followUntil }: RecordsOptions,
): AsyncGenerator<Stored<T>, void, undefined> {
  let next = from;
  let atEnd = from.kind === 'latest';
  for (;;) {
    const page =
      atEnd && followUntil !== undefined
        ? await following(log, topic, next, followUntil)
        : await lastValueFrom(
            log.tap(topic, { from: next, follow: false }).pipe(take(PAGE), toArray()),
          );
    yield* page;
    const last = page.at(-1);
    if (last !== undefined) next = { kind: 'offset', offset: last.position.offset + 1 };
    else if (followUntil === undefined || followUntil.aborted) return;
    atEnd = page.length < PAGE;
  }
}

/** The next record, whenever it comes; none once `until` aborts. */
function following<T>(
  log: Log,
  topic: Topic<T>,
  from: From,
  until: AbortSignal,
): Promise<readonly Stored<T>[]> {
  if (until.aborted) return Promise.resolve([]);
  const next$ = log.tap(topic, { from, follow: true });
  return lastValueFrom(next$.pipe(take(1), takeUntil(fromEvent(until, 'abort')), toArray()));
}
