/**
 * Where two runs diverge: the earliest record that differs between them, judged by what records mean. Records
 * are matched by identity, references are compared by what they point at, and times are ignored; earliest is
 * by `Topic.moment`, then by the order of the topics. Both runs are read once, side by side. Memory holds the
 * ids of both, the places of what has no match yet, and a few records.
 */

import { deadLetters } from '../deadLetters.ts';
import type { Log, Standing } from '../log.ts';
import type { Topic } from '../topic.ts';
import { recordDifference } from './difference.ts';
import { Places, upTo } from './places.ts';
import { withReferences } from './references.ts';
import type { Difference } from './retrace.ts';

const RECENT_MAX = 64;

/** One side of the comparison. */
interface Side {
  readonly log: Log;
  readonly ends: Standing['ends'];
  /** Topic, then identity by offset: of the topics read so far. */
  readonly ids: Map<string, string[]>;
}

export interface Divergence {
  /** `recorded` is from the first run, `made` from the second. */
  readonly difference: Difference;
  /** When in the runs' lives (`Topic.moment`). */
  readonly moment: number;
}

export interface Compared {
  /** Null when all records are the same. */
  readonly divergence: Divergence | null;
  /** Records that are equal, and all records of either run, by topic. */
  readonly same: Readonly<Record<string, { readonly equal: number; readonly all: number }>>;
}

/** How many records of both runs have been read, and how many there are. */
export type Reading = (read: number, records: number) => void;

/** Compares all records of `topics` but dead letters: bad rows are reported at every start. */
export async function divergence(
  topics: readonly Topic<unknown>[],
  a: Log,
  b: Log,
  reading: Reading = () => undefined,
): Promise<Compared> {
  const compared = topics.filter(({ name }) => name !== deadLetters.name);
  const sides = [await sideOf(a), await sideOf(b)] as const;
  const records = compared.reduce(
    (sum, topic) => sum + endOf(sides[0], topic) + endOf(sides[1], topic),
    0,
  );
  let read = 0;
  const each = (): void => reading(++read, records);
  const counted = new Map<string, { equal: number; all: number }>();
  let earliest: Divergence | null = null;
  for (const topic of referredFirst(compared)) {
    const counts = { equal: 0, all: 0 };
    counted.set(topic.name, counts);
    for await (const found of differences(topic, sides, { counts, each })) {
      if (earliest === null || isEarlier(found, earliest, compared)) earliest = found;
    }
  }
  const same = compared.map(({ name }) => [name, counted.get(name)!] as const);
  return { divergence: earliest, same: Object.fromEntries(same.filter(([, { all }]) => all > 0)) };
}

/** What others refer to either refers to nothing itself, or comes earlier in the order of the topics. */
function referredFirst(topics: readonly Topic<unknown>[]): Topic<unknown>[] {
  const refers = ({ references }: Topic<unknown>): boolean => references !== undefined;
  return [...topics.filter((topic) => !refers(topic)), ...topics.filter(refers)];
}

function isEarlier(one: Divergence, other: Divergence, topics: readonly Topic<unknown>[]): boolean {
  const ranks = ({ moment, difference: { topic, kind, offset } }: Divergence): number[] => [
    moment,
    topics.findIndex(({ name }) => name === topic),
    // Records that only the second run has have no place among those of the first.
    kind === 'notRecorded' ? 1 : 0,
    offset ?? 0,
  ];
  const [first, second] = [ranks(one), ranks(other)];
  const at = first.findIndex((rank, i) => rank !== second[i]);
  return at >= 0 && first[at]! < second[at]!;
}

async function sideOf(log: Log): Promise<Side> {
  const ends = (await log.standing?.())?.ends ?? (await endsOf(log));
  return { log, ends, ids: new Map() };
}

async function endsOf(log: Log): Promise<Standing['ends']> {
  const stats = await log.stats();
  return Object.fromEntries(stats.map(({ topic, records }) => [topic, records]));
}

/** Notes taken on the way through a topic. */
interface Notes {
  readonly counts: { equal: number; all: number };
  /** Called for each record of either side. */
  readonly each: () => void;
}

async function* differences(
  topic: Topic<unknown>,
  sides: readonly [Side, Side],
  { counts, each }: Notes,
): AsyncGenerator<Divergence> {
  /** For each side: what the other has not shown yet. */
  const alone = [new Places(), new Places()] as const;
  /** Values of the last of them: runs are seldom far apart. */
  const recent = [new Map<number, unknown>(), new Map<number, unknown>()] as const;
  for await (const { side, id, value, offset } of sideBySide(topic, sides, each)) {
    const there = alone[1 - side]!.take(topic.name, id);
    if (there === undefined) {
      alone[side].add(topic, value, offset);
      recent[side].set(offset, value);
      if (recent[side].size > RECENT_MAX) recent[side].delete(recent[side].keys().next().value!);
      continue;
    }
    const held = recent[1 - side]!;
    const other = held.get(there) ?? (await valueAt(sides[1 - side]!, topic, there));
    held.delete(there);
    const [first, second] = side === 0 ? [value, other] : [other, value];
    counts.all += 1;
    const [recorded, made] = [meant(sides[0], topic, first), meant(sides[1], topic, second)];
    const field = recordDifference(topic, recorded, made);
    if (field === null) {
      counts.equal += 1;
      continue;
    }
    const at = { topic: topic.name, id, offset: side === 0 ? offset : there };
    yield { moment: topic.moment(first), difference: { ...at, ...field, kind: 'differs' } };
  }
  for (const side of [0, 1] as const) {
    for (const { id, offset } of alone[side].left()) {
      const value = await valueAt(sides[side], topic, offset);
      counts.all += 1;
      const only =
        side === 0
          ? ({ kind: 'notMadeAgain', field: '', recorded: value, made: undefined } as const)
          : ({ kind: 'notRecorded', field: '', recorded: undefined, made: value } as const);
      const difference = { topic: topic.name, id, offset, ...only };
      yield { moment: topic.moment(value), difference };
    }
  }
}

/** The records of both sides in turn, without those about time alone; notes their ids. */
async function* sideBySide(topic: Topic<unknown>, sides: readonly [Side, Side], each: () => void) {
  const ids = sides.map((side) => {
    const list: string[] = [];
    side.ids.set(topic.name, list);
    return list;
  });
  const readers = sides.map((side) => upTo(side.log, topic, endOf(side, topic)));
  const over = [false, false];
  try {
    while (over.includes(false)) {
      for (const side of [0, 1] as const) {
        if (over[side]) continue;
        const next = await readers[side]!.next();
        if (next.done) {
          over[side] = true;
          continue;
        }
        const { value, position } = next.value;
        const id = topic.identity(value);
        ids[side]!.push(id);
        each();
        if (!topic.isTime?.(value)) yield { side, id, value, offset: position.offset };
      }
    }
  } finally {
    for (const reader of readers) await reader.return(undefined);
  }
}

const endOf = ({ ends }: Side, { name }: Topic<unknown>): number => ends[name] ?? 0;

async function valueAt({ log }: Side, topic: Topic<unknown>, offset: number): Promise<unknown> {
  const [stored] = await log.fetch(topic, [{ partition: 0, offset }]);
  return stored!.value;
}

/** The record with identities instead of positions in its references. */
function meant({ ids }: Side, topic: Topic<unknown>, value: unknown): unknown {
  return withReferences(topic, value, (to, position) => ids.get(to)?.[position.offset] ?? position);
}
