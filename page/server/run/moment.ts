/**
 * The moment that a page shows: `?at=step:120` is right after the weights of step 120 were written, with
 * everything committed together with them or before. The embedded log knows where every topic ended then;
 * with Kafka it is found by time.
 */
import { hasCode, MillraceError } from '../../../base/index.ts';
import type { From, Log, Stored } from '../../../streams/index.ts';
import { topics, type Weights } from '../../../topics/index.ts';
import type { At } from '../../wire/index.ts';
import { positionIn, refOf } from './refs.ts';
import type { Mark, Timeline } from './timeline.ts';

export interface Moment {
  /** Null = now. */
  readonly at: At | null;
  /** Where a tap of a topic ends; undefined = at its end. */
  endOf(topic: string): From | undefined;
  /** How many records the topic had, if that is known. */
  recordsOf(topic: string): number | null;
}

/** The end of every topic. */
export const now: Moment = { at: null, endOf: () => undefined, recordsOf: () => null };

interface Asked {
  readonly log: Log;
  readonly timeline: Timeline;
}

/** Fails with code `USAGE` or `NOT_FOUND`. `text` is the value of `at=`; absent or empty = now. */
export async function momentOf(
  text: string | undefined,
  { log, timeline }: Asked,
): Promise<Moment> {
  if (text === undefined || text === '') return now;
  const mark = await markOf(text, { log, timeline });
  const { step, version, atMs, position } = mark;
  const at = { step, version, atMs, ref: refOf(position) };
  const ends = await endsAfter(log, position.offset);
  if (ends === null) {
    // What was written in the same millisecond belongs to the moment.
    return { at, endOf: () => ({ kind: 'time', atMs: atMs + 1 }), recordsOf: () => null };
  }
  const recordsOf = (topic: string): number => ends[topic] ?? 0;
  return { at, recordsOf, endOf: (topic) => ({ kind: 'offset', offset: recordsOf(topic) }) };
}

async function endsAfter(
  log: Log,
  offset: number,
): Promise<Readonly<Record<string, number>> | null> {
  try {
    const standing = await log.standing?.({ topic: topics.weights, offset });
    return standing?.ends ?? null;
  } catch (error) {
    if (hasCode(error, 'NO_HISTORY')) return null;
    throw error;
  }
}

async function markOf(text: string, { log, timeline }: Asked): Promise<Mark> {
  const [, step] = /^step:(\d{1,12})$/.exec(text) ?? [];
  if (step !== undefined) return ofStep(Number(step), { log, timeline });
  const [, ref = ''] = /^offset:(.+)$/.exec(text) ?? [];
  const position = positionIn(ref);
  if (position === null) {
    throw new MillraceError('USAGE', 'at= takes step:N, or offset:N of the topic weights');
  }
  const [stored] = await log.fetch(topics.weights, [position]);
  return ofRecord(stored!);
}

/** The last weights of steps up to this one. */
async function ofStep(step: number, { log, timeline }: Asked): Promise<Mark> {
  const found = timeline.upTo((mark) => mark.step > step);
  if (found === null) {
    const first = timeline.marks[0];
    throw new MillraceError(
      'NOT_FOUND',
      first === undefined
        ? 'this run has no weights yet, so there is no step to show'
        : `there is no step ${step} in this run: it begins at step ${first.step}`,
    );
  }
  if (found.step === step || found === timeline.newest) return found;
  // Some weights between two that are kept were dropped: those in the log are searched.
  const { partition, offset } = found.position;
  let best = found;
  const until = timeline.marks[timeline.marks.indexOf(found) + 1]?.position.offset ?? offset + 1;
  await log
    .tap(topics.weights, {
      from: { kind: 'offset', offset: offset + 1 },
      to: { kind: 'offset', offset: until },
      follow: false,
      partitions: [partition],
      unreadable: () => undefined,
    })
    .forEach((stored) => {
      if (stored.value.step <= step) best = ofRecord(stored);
    });
  return best;
}

function ofRecord({ value: { step, version, digest }, atMs, position }: Stored<Weights>): Mark {
  return { step, version, digest, atMs, position };
}
