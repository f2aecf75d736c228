/**
 * Checks the index by key against the records: each run of it must have the names of its records.
 *
 * It gets the records of a topic in order, from whatever reads them, and holds the names of one run at a
 * time. Runs may be merged meanwhile by the process that writes the log: what counts is what the index says
 * about the same records.
 */
import type { Topic } from '../../topic.ts';
import { Store } from '../store.ts';
import { hashesOf, hashIn, placeIn, type Run } from './entries.ts';
import { entriesOf, runsOf } from './keyRuns.ts';

/** A topic whose index is wrong. */
export interface IndexFault {
  readonly topic: string;
  /** The reason, as a sentence. */
  readonly what: string;
}

interface Entry {
  readonly hash: number;
  readonly offset: number;
}

interface Checked {
  readonly topic: string;
  readonly run: Run;
  readonly expected: Entry[];
  /** Records that were not passed in, because they could not be read. */
  readonly unseen: Set<number>;
}

export class KeyCheck {
  readonly #store: Store;
  readonly #faults: IndexFault[] = [];
  readonly #runs = new Map<string, readonly Run[]>();
  #now: Checked | null = null;

  /** The folder of an embedded log. */
  constructor(folder: string) {
    this.#store = new Store(folder, 'read');
  }

  see(topic: Topic<unknown>, value: unknown, offset: number): void {
    const now = this.#at(topic.name, offset);
    if (now === null) return;
    now.unseen.delete(offset);
    for (const hash of hashesOf(topic, value)) now.expected.push({ hash, offset });
  }

  /** After the last record. */
  faults(): readonly IndexFault[] {
    this.#finish();
    return this.#faults;
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #at(topic: string, offset: number): Checked | null {
    const now = this.#now;
    if (now !== null && now.topic === topic && offset < now.run.to) return now;
    this.#finish();
    const run = this.#runsOf(topic).find(({ from, to }) => from <= offset && offset < to);
    if (run === undefined) return null;
    const unseen = new Set(Array.from({ length: run.to - run.from }, (_, i) => run.from + i));
    this.#now = { topic, run, expected: [], unseen };
    return this.#now;
  }

  #runsOf(topic: string): readonly Run[] {
    const known = this.#runs.get(topic);
    if (known !== undefined) return known;
    const runs = runsOf(this.#store, topic);
    if (runs === null) this.#fault(topic, 'the list of its index pages was changed');
    this.#runs.set(topic, runs ?? []);
    return runs ?? [];
  }

  #finish(): void {
    const now = this.#now;
    this.#now = null;
    if (now === null) return;
    const { topic, run, expected, unseen } = now;
    this.#store.refresh();
    const said = entriesBetween(this.#store, topic, run);
    const records = `of records ${run.from} to ${run.to - 1}`;
    if (said === null) this.#fault(topic, `a page of its index ${records} was changed`);
    else if (!same(expected, said, unseen)) {
      this.#fault(topic, `its index ${records} does not match the records`);
    }
  }

  #fault(topic: string, what: string): void {
    this.#faults.push({ topic, what });
  }
}

/** What the index says about these records now; null if a page was changed. */
function entriesBetween(store: Store, topic: string, { from, to }: Run): readonly Entry[] | null {
  const said: Entry[] = [];
  for (const run of runsOf(store, topic) ?? []) {
    if (run.to <= from || run.from >= to) continue;
    const pages = entriesOf(store, topic, run);
    if (pages === null) return null;
    for (const entry of pages.flatMap((page) => [...page])) {
      const offset = run.from + placeIn(entry);
      if (offset >= from && offset < to) said.push({ hash: hashIn(entry), offset });
    }
  }
  return said;
}

function same(
  expected: readonly Entry[],
  said: readonly Entry[],
  unseen: ReadonlySet<number>,
): boolean {
  const keys = (entries: readonly Entry[]): string[] =>
    entries
      .filter(({ offset }) => !unseen.has(offset))
      .map(({ hash, offset }) => `${offset}/${hash}`)
      .sort();
  const [wanted, given] = [keys(expected), keys(said)];
  return wanted.length === given.length && wanted.every((key, i) => key === given[i]);
}
