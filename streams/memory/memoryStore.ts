/**
 * The store of a log in memory: what `Store` keeps in a file, as long as the process lives. Records are
 * sealed as on disk, so what a reader gets is what was written and no shared object.
 *
 * `flush` stands for the disk: it is given what a transaction changes, as a whole, and the transaction is
 * written once it has called `apply`, and durable once it resolves. Whoever passes it in can make it slow,
 * make it fail, or let it never come back.
 */
import { type Archived, NOTHING_ARCHIVED, type Segment, segmentAt } from '../archive/segments.ts';
import { type Envelope, seal, unseal } from '../embedded/envelope.ts';
import type { Moment } from '../embedded/history.ts';
import type { Run } from '../embedded/keys/entries.ts';
import type { Head, LogStore, Writes } from '../embedded/store.ts';
import type { Mark } from '../log.ts';
import type { ProgressState } from '../progress.ts';

/** Writes a transaction. Rejects, and has not called `apply`, when it cannot. */
export type Flush = (apply: () => void) => Promise<void>;

export class MemoryStore implements LogStore {
  readonly #records = new Map<string, Buffer[]>();
  readonly #heads = new Map<string, Head>();
  readonly #progress = new Map<string, Map<string, ProgressState>>();
  readonly #marks = new Map<string, Mark>();
  readonly #schemas = new Map<string, readonly unknown[]>();
  readonly #moments: Moment[] = [];
  readonly #runs = new Map<string, readonly Run[]>();
  readonly #keys = new Map<string, Buffer>();
  readonly #archived = new Map<string, Archived>();
  /** The archive's files by name. */
  readonly files = new Map<string, readonly Buffer[]>();
  readonly #flush: Flush;

  constructor(flush: Flush = async (apply) => apply()) {
    this.#flush = flush;
  }

  refresh(): void {}

  record(topic: string, offset: number): Envelope | undefined {
    const bytes = this.sealed(topic, offset);
    return bytes === undefined ? undefined : unseal(bytes, `${topic}@${offset}`);
  }

  sealed(topic: string, offset: number): Buffer | undefined {
    const kept = this.#records.get(topic)?.[offset];
    if (kept !== undefined) return kept;
    const segment = segmentAt(this.archived(topic).segments, offset);
    return segment && this.files.get(segment.file)?.[offset - segment.from];
  }

  archived(topic: string): Archived {
    return this.#archived.get(topic) ?? NOTHING_ARCHIVED;
  }

  async archive(topic: string, segment: Segment, bytes: number): Promise<void> {
    const before = this.archived(topic);
    await this.#flush(() => {
      const segments = [...before.segments, segment];
      this.#archived.set(topic, { segments, bytes: before.bytes + bytes });
      const records = this.#records.get(topic) ?? [];
      for (let at = segment.from; at < segment.to; at++) delete records[at];
    });
  }

  head(topic: string): Head {
    return this.#heads.get(topic) ?? { end: 0, bytes: 0 };
  }

  heads(): readonly (readonly [topic: string, head: Head])[] {
    return sorted(this.#heads);
  }

  progress(topic: string, group: string): ProgressState | undefined {
    return this.#progress.get(topic)?.get(group);
  }

  groups(topic: string): readonly (readonly [group: string, progress: ProgressState])[] {
    return sorted(this.#progress.get(topic) ?? new Map());
  }

  mark(name: string): Mark {
    return this.#marks.get(name) ?? 0;
  }

  marks(): Readonly<Record<string, Mark>> {
    return Object.fromEntries(sorted(this.#marks));
  }

  *history(): Generator<Moment> {
    yield* this.#moments;
  }

  historyEnd(): number {
    return this.#moments.length;
  }

  schemas(topic: string): readonly unknown[] {
    return this.#schemas.get(topic) ?? [];
  }

  runs(topic: string): readonly Run[] {
    return this.#runs.get(topic) ?? [];
  }

  keys(topic: string, from: number, page: number): Buffer | undefined {
    return this.#keys.get(keyOf(topic, from, page));
  }

  async write(work: (writes: Writes) => void): Promise<void> {
    const changes: (() => void)[] = [];
    const change = (act: () => void): void => void changes.push(act);
    const remove = (topic: string, from: number, page: number): void =>
      change(() => this.#keys.delete(keyOf(topic, from, page)));
    work({
      put: (topic, offset, envelope) => {
        const bytes = seal(envelope);
        change(() => {
          const records = this.#records.get(topic) ?? [];
          records[offset] = bytes;
          this.#records.set(topic, records);
        });
      },
      putHead: (topic, head) => change(() => this.#heads.set(topic, head)),
      putProgress: (topic, group, progress) =>
        change(() => {
          const groups = this.#progress.get(topic) ?? new Map();
          this.#progress.set(topic, groups.set(group, progress));
        }),
      putMark: (name, value) => change(() => this.#marks.set(name, value)),
      putSchemas: (topic, schemas) => change(() => this.#schemas.set(topic, schemas)),
      putMoment: (number, moment) =>
        change(() => {
          this.#moments[number] = moment;
        }),
      putKeys: (topic, from, page, bytes) =>
        change(() => this.#keys.set(keyOf(topic, from, page), bytes)),
      removeKeys: remove,
      clearKeys: (topic) =>
        change(() => {
          for (const key of this.#keys.keys()) {
            if (key.startsWith(`${topic}\0`)) this.#keys.delete(key);
          }
          this.#runs.set(topic, []);
        }),
      putRuns: (topic, runs) => change(() => this.#runs.set(topic, runs)),
    });
    await this.#flush(() => {
      for (const act of changes) act();
    });
  }

  async close(): Promise<void> {}
}

function keyOf(topic: string, from: number, page: number): string {
  return `${topic}\0${from}\0${page}`;
}

/** In the order of a file's keys. */
function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}
