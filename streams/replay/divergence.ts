/**
 * Where two runs part: the earliest record that is not the same in both, by what records mean. Records are
 * matched by identity, references compared by what they point at, times not at all; earliest is by
 * `Topic.moment`, then by the order of the topics. Ids and offsets of both runs are held in memory, records
 * are not.
 */

import { deadLetters } from '../deadLetters.ts';
import type { Log, Standing } from '../log.ts';
import type { Topic } from '../topic.ts';
import { recordDifference } from './difference.ts';
import { upTo } from './places.ts';
import { withReferences } from './references.ts';
import type { Difference } from './retrace.ts';

/** One side of the comparison. */
interface Side {
  readonly log: Log;
  readonly standing: Standing;
  /** Topic, then identity by offset. */
  readonly ids: ReadonlyMap<string, readonly string[]>;
}

export interface Divergence {
  /** `recorded` is of the first run, `made` of the second. */
  readonly difference: Difference;
  /** When in the runs' lives (`Topic.moment`). */
  readonly moment: number;
}

export interface Compared {
  /** Null when all records are the same. */
  readonly divergence: Divergence | null;
  /** Records that are the same, and all those in either run, by topic. */
  readonly same: Readonly<Record<string, { readonly equal: number; readonly all: number }>>;
}

/** Compares all records of `topics` but dead letters: bad rows are reported at every start. */
export async function divergence(
  topics: readonly Topic<unknown>[],
  a: Log,
  b: Log,
): Promise<Compared> {
  const compared = topics.filter(({ name }) => name !== deadLetters.name);
  const [first, second] = [await sideOf(compared, a), await sideOf(compared, b)];
  const same: Record<string, { equal: number; all: number }> = {};
  let earliest: Divergence | null = null;
  for (const topic of compared) {
    const counts = { equal: 0, all: 0 };
    for await (const found of differences(topic, first, second, counts)) {
      if (earliest === null || found.moment < earliest.moment) earliest = found;
    }
    if (counts.all > 0) same[topic.name] = counts;
  }
  return { divergence: earliest, same };
}

async function sideOf(topics: readonly Topic<unknown>[], log: Log): Promise<Side> {
  const standing = (await log.standing?.()) ?? (await endsOf(log));
  const ids = new Map<string, readonly string[]>();
  for (const topic of topics) {
    const list: string[] = [];
    for await (const { value } of upTo(log, topic, standing.ends[topic.name] ?? 0)) {
      list.push(topic.identity(value));
    }
    ids.set(topic.name, list);
  }
  return { log, standing, ids };
}

async function endsOf(log: Log): Promise<Standing> {
  const stats = await log.stats();
  const ends = Object.fromEntries(stats.map(({ topic, records }) => [topic, records]));
  return { ends, settled: {}, marks: {} };
}

async function* differences(
  topic: Topic<unknown>,
  first: Side,
  second: Side,
  counts: { equal: number; all: number },
): AsyncGenerator<Divergence> {
  const places = new Map(second.ids.get(topic.name)!.map((id, offset) => [id, offset]));
  for await (const { value, position } of upTo(first.log, topic, endOf(first, topic))) {
    const id = topic.identity(value);
    const there = places.get(id);
    places.delete(id);
    if (topic.isTime?.(value)) continue;
    counts.all += 1;
    const at = { topic: topic.name, id, offset: position.offset };
    const moment = topic.moment(value);
    if (there === undefined) {
      const only = { kind: 'notMadeAgain', field: '', recorded: value, made: undefined } as const;
      yield { moment, difference: { ...at, ...only } };
      continue;
    }
    const other = await valueAt(second, topic, there);
    const field = recordDifference(topic, meant(first, topic, value), meant(second, topic, other));
    if (field === null) counts.equal += 1;
    else yield { moment, difference: { ...at, ...field, kind: 'differs' } };
  }
  for (const [id, offset] of places) {
    const value = await valueAt(second, topic, offset);
    if (topic.isTime?.(value)) continue;
    counts.all += 1;
    const only = { kind: 'notRecorded', field: '', recorded: undefined, made: value } as const;
    yield {
      moment: topic.moment(value),
      difference: { topic: topic.name, id, offset, ...only },
    };
  }
}

const endOf = ({ standing }: Side, { name }: Topic<unknown>): number => standing.ends[name] ?? 0;

async function valueAt({ log }: Side, topic: Topic<unknown>, offset: number): Promise<unknown> {
  const [stored] = await log.fetch(topic, [{ partition: 0, offset }]);
  return stored!.value;
}

/** The record with the identities of what it refers to in place of positions. */
function meant({ ids }: Side, topic: Topic<unknown>, value: unknown): unknown {
  return withReferences(topic, value, (to, position) => ids.get(to)?.[position.offset] ?? position);
}
