/**
 * `retrace`: holds a flow to the records of another run. What the flow finishes is looked up among them by
 * its identity, compared, and committed in order; so every topic ends up with the same records at the
 * same offsets, and operators for which the order of arrival matters see the recorded order.
 *
 * Times and durations are not compared, nor are records of a kind that the recorded run has none of: a newer
 * version of the software writes them. Records of topics of `anyOrder` are compared whatever their order. Ids
 * and offsets of the records are held in memory, records are not.
 */

import type { SideRecord } from '../deliveries/delivery.ts';
import type { Log, Standing } from '../log.ts';
import type { CommitOrder } from '../run/commitOrder.ts';
import type { Topic } from '../topic.ts';
import { type FieldDifference, recordDifference } from './difference.ts';
import type { Places } from './places.ts';

/** The first difference between a run and its replay, with its place. */
export interface Difference extends FieldDifference {
  readonly kind: 'differs' | 'notRecorded' | 'notMadeAgain';
  readonly topic: string;
  /** Identity of the record. */
  readonly id: string;
  /** Its offset in the recorded run; null if there is no such record. */
  readonly offset: number | null;
}

export interface RetraceOptions {
  /** The log that is replayed, and up to where. */
  readonly recorded: Log;
  readonly standing: Standing;
  readonly places: Places;
  /** Records at the beginning of a topic that sources write; they are not compared here. */
  readonly given: ReadonlyMap<string, number>;
  /** Called at the first difference; nothing is committed after it. */
  readonly onDifference: (difference: Difference) => void;
  /** Called for every record that was recomputed and is equal. */
  readonly onEqual?: (topic: string, value: unknown) => void;
}

/**
 * A commit that waits for its turn: its first offset in each ordered topic, and how many records follow from
 * there.
 */
interface Family {
  readonly stage: string;
  readonly runs: ReadonlyMap<string, { readonly start: number; count: number }>;
  readonly commit: () => void;
}

/** Whose turn it is in a topic. */
interface Head {
  next: number;
  /** Families released and not yet on disk, all from one stage, so their order is safe. */
  open: number;
  writer: string;
}

export class Retrace implements CommitOrder {
  readonly #options: RetraceOptions;
  readonly #heads = new Map<string, Head>();
  /** By topic and first offset; a family is listed under each of its topics. */
  readonly #waiting = new Map<string, Family>();
  readonly #judging = new Set<Promise<void>>();
  #ended = false;

  constructor(options: RetraceOptions) {
    this.#options = options;
  }

  ready(stage: string, writes: readonly SideRecord[], commit: () => void): void {
    if (writes.length === 0) {
      commit();
      return;
    }
    const judging: Promise<void> = this.#judge(stage, writes, commit).finally(() =>
      this.#judging.delete(judging),
    );
    this.#judging.add(judging);
  }

  committed(_stage: string, writes: readonly SideRecord[]): void {
    for (const { name, anyOrder } of new Set(writes.map(({ topic }) => topic))) {
      if (anyOrder) continue;
      this.#head(name).open -= 1;
      this.#letGo(name);
    }
  }

  async moved(): Promise<boolean> {
    if (this.#judging.size === 0) return false;
    await Promise.all(this.#judging);
    return true;
  }

  async #judge(stage: string, writes: readonly SideRecord[], commit: () => void): Promise<void> {
    try {
      const family: Family = { stage, runs: new Map(), commit };
      for (const write of tellingFirst(writes)) {
        if (!(await this.#judgeOne(write, family))) return;
      }
      this.#line(family);
    } catch (error) {
      this.#end({
        kind: 'notRecorded',
        topic: stage,
        id: '',
        offset: null,
        field: '',
        recorded: undefined,
        made: error,
      });
    }
  }

  /** False if it differs. */
  async #judgeOne({ topic, value }: SideRecord, family: Family): Promise<boolean> {
    if (topic.isTime?.(value) || this.#options.places.isNewKind(topic, value)) return true;
    // The recorded value went through the contract, so the new one must too before they are compared.
    const made = topic.codec.decode(topic.codec.encode(value));
    const id = topic.identity(made);
    const at = { topic: topic.name, id };
    const offset = this.#options.places.take(topic.name, id);
    if (offset === undefined) {
      this.#end({ ...at, kind: 'notRecorded', offset: null, field: '', recorded: undefined, made });
      return false;
    }
    const [stored] = await this.#options.recorded.fetch(topic, [{ partition: 0, offset }]);
    const found =
      recordDifference(topic, stored!.value, made) ?? this.#misplaced(topic, offset, family);
    if (found !== null) {
      this.#end({ ...at, ...found, kind: 'differs', offset });
      return false;
    }
    this.#options.onEqual?.(topic.name, made);
    return !this.#ended;
  }

  /** Records of one commit are consecutive. */
  #misplaced(
    { name, anyOrder }: Topic<unknown>,
    offset: number,
    family: Family,
  ): FieldDifference | null {
    if (anyOrder) return null;
    const run = family.runs.get(name);
    const due = run === undefined ? offset : run.start + run.count;
    if (due !== offset) return { field: '$offset', recorded: offset, made: due };
    if (run === undefined)
      (family.runs as Map<string, object>).set(name, { start: offset, count: 1 });
    else run.count += 1;
    return null;
  }

  #end(difference: Difference): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#options.onDifference(difference);
  }

  #line(family: Family): void {
    if (this.#ended) return;
    if (family.runs.size === 0) family.commit();
    for (const [name, { start }] of family.runs) this.#waiting.set(place(name, start), family);
    for (const name of family.runs.keys()) this.#letGo(name);
  }

  /** Releases the waiters that are next in this topic. */
  #letGo(name: string): void {
    for (;;) {
      const family = this.#waiting.get(place(name, this.#head(name).next));
      if (family === undefined || !this.#mayGo(family)) return;
      for (const [topic, { start, count }] of family.runs) {
        this.#waiting.delete(place(topic, start));
        const head = this.#head(topic);
        head.next += count;
        head.open += 1;
        head.writer = family.stage;
      }
      family.commit();
      for (const topic of family.runs.keys()) if (topic !== name) this.#letGo(topic);
    }
  }

  #mayGo({ runs, stage }: Family): boolean {
    return [...runs].every(([name, { start }]) => {
      const { next, open, writer } = this.#head(name);
      return next === start && (open === 0 || writer === stage);
    });
  }

  #head(name: string): Head {
    const known = this.#heads.get(name);
    if (known !== undefined) return known;
    const head = { next: this.#options.given.get(name) ?? 0, open: 0, writer: '' };
    this.#heads.set(name, head);
    return head;
  }
}

/**
 * Records in any order (measurements) differ because others do (those that they measure), so the others are
 * checked first.
 */
function tellingFirst(writes: readonly SideRecord[]): readonly SideRecord[] {
  const unordered = ({ topic }: SideRecord): boolean => topic.anyOrder;
  return [...writes.filter((write) => !unordered(write)), ...writes.filter(unordered)];
}

const place = (topic: string, offset: number): string => `${topic}@${offset}`;
