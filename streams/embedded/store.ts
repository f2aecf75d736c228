/**
 * The layout of an embedded log on disk. The only file that knows lmdb.
 *
 * Four tables in one environment, so that one transaction covers all. `records`: (topic, offset) to an
 * envelope (`envelope.ts`). `state`: JSON with a checksum (`checkedJson.ts`), under the keys below.
 * `history`: number of a transaction to what it changed, as JSON of the same kind, so that a run can go back
 * to where it stood (`history.ts`). `keys`: pages of the index by key (`keys/`). Every commit is flushed to
 * disk before it is visible (overlappingSync off: measured as fast here), so a resolved write survives the
 * death of the process, and power loss as far as the disk keeps its promises.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { about, MillraceError, mustHaveRoom } from '../../base/index.ts';
import { lmdbDamage, type MappedFile, mappedFile } from '../../base/lmdb/index.ts';
import {
  type Archived,
  NOTHING_ARCHIVED,
  type Segment,
  SegmentReader,
} from '../archive/segments.ts';
import type { Mark } from '../log.ts';
import type { ProgressState } from '../progress.ts';
import { sealJson, unsealJson } from './checkedJson.ts';
import { AFTER_DAMAGE, type Envelope, seal, unseal } from './envelope.ts';
import type { Moment } from './history.ts';
import type { Run } from './keys/entries.ts';

export type Mode = 'write' | 'read';

/** The extent of a topic. */
export interface Head {
  /** Offset that the next record gets. */
  readonly end: number;
  /** Envelopes and Avro together. */
  readonly bytes: number;
}

/** What a log is stored in: a file (`Store`), or memory. */
export type LogStore = Pick<Store, Exclude<keyof Store, 'exclusively'>>;

const NO_HEAD: Head = { end: 0, bytes: 0 };

/** What one transaction writes. */
export interface Writes {
  put(topic: string, offset: number, envelope: Envelope): void;
  putHead(topic: string, head: Head): void;
  putProgress(topic: string, group: string, progress: ProgressState): void;
  putMark(name: string, value: Mark): void;
  putSchemas(topic: string, schemas: readonly unknown[]): void;
  putMoment(number: number, moment: Moment): void;
  /** A page of a topic's index by key, and which runs of pages it has. */
  putKeys(topic: string, from: number, page: number, bytes: Buffer): void;
  removeKeys(topic: string, from: number, page: number): void;
  clearKeys(topic: string): void;
  putRuns(topic: string, runs: readonly Run[]): void;
}

export class Store {
  readonly #path: string;
  readonly #file: MappedFile;
  /** Whether the file was seen in this turn of the event loop: checking costs as much as a read. */
  #isLooked = false;
  readonly #env: RootDatabase<unknown, string>;
  readonly #segments: SegmentReader;
  /** Ends of topics, and how much of them is archived, as last read: asked for constantly and seldom new. */
  readonly #known = new Map<string, { readonly text: string; readonly value: unknown }>();
  readonly #records: Database<Buffer, [string, number]>;
  readonly #state: Database<string, string[]>;
  /** Undefined in a read-only log that predates the table. */
  readonly #history: Database<string, number> | undefined;
  /** Likewise. */
  readonly #keys: Database<Buffer, [string, number, number]> | undefined;

  constructor(folder: string, mode: Mode) {
    const path = join(folder, 'log.mdb');
    this.#path = path;
    this.#segments = new SegmentReader(folder);
    if (mode === 'write') mkdirSync(folder, { recursive: true });
    else if (!existsSync(path)) {
      throw new MillraceError('NO_LOG', `there is no log in ${folder}; check the run's name`, {
        context: { folder },
      });
    }
    const readOnly = mode === 'read';
    mustBeWhole(path, readOnly);
    // lmdb does not survive a disk that has no room for its first pages.
    if (!readOnly) mustHaveRoom(path);
    try {
      this.#env = open({
        path,
        noSubdir: true,
        maxDbs: 4,
        overlappingSync: false,
        readOnly,
        // We make our own batches; lmdb's per-event-turn ones, when they fail (a full disk), reject a promise
        // that no code holds.
        eventTurnBatching: false,
      });
      this.#file = mappedFile(path);
      // Places of readers that died would keep their pages from being used again.
      if (!readOnly) this.#env.readerCheck();
      this.#records = this.#env.openDB({ name: 'records', encoding: 'binary' });
      this.#state = this.#env.openDB({ name: 'state', encoding: 'string' });
      this.#history = this.#env.openDB({ name: 'history', encoding: 'string' });
      this.#keys = this.#env.openDB({ name: 'keys', encoding: 'binary' });
    } catch (error) {
      throw about(path, error);
    }
  }

  /** Sees what other processes have committed since the last read. */
  refresh(): void {
    this.#mustBeThere();
    this.#env.resetReadTxn();
  }

  record(topic: string, offset: number): Envelope | undefined {
    this.#mustBeThere();
    const bytes = this.sealed(topic, offset);
    return bytes === undefined ? undefined : unseal(bytes, `${topic}@${offset}`);
  }

  /**
   * The record as stored, in the file or in the archive. Fails with code `ARCHIVED` if its segment cannot be
   * read.
   */
  sealed(topic: string, offset: number): Buffer | undefined {
    return (
      this.#records.getBinary([topic, offset]) ??
      this.#segments.record(topic, offset, this.archived(topic))
    );
  }

  /** What of the topic has left the file. */
  archived(topic: string): Archived {
    return (this.#again(['archive', topic]) as Archived | undefined) ?? NOTHING_ARCHIVED;
  }

  /** Takes the records of a segment, which is on disk, out of the file; `bytes` = what they took. */
  async archive(topic: string, segment: Segment, bytes: number): Promise<void> {
    const before = this.archived(topic);
    await this.#env.transaction(() => {
      for (let offset = segment.from; offset < segment.to; offset++) {
        unheard(this.#records.remove([topic, offset]));
      }
      const segments = [...before.segments, segment];
      this.#set(['archive', topic], { segments, bytes: before.bytes + bytes });
    });
  }

  head(topic: string): Head {
    return (this.#again(['head', topic]) as Head | undefined) ?? NO_HEAD;
  }

  heads(): readonly (readonly [topic: string, head: Head])[] {
    return this.#under('head').map(({ key, value }) => [key[1]!, value as Head]);
  }

  progress(topic: string, group: string): ProgressState | undefined {
    return this.#get(['group', topic, group]) as ProgressState | undefined;
  }

  /** Every group that has settled something of the topic. */
  groups(topic: string): readonly (readonly [group: string, progress: ProgressState])[] {
    return this.#under('group', topic).map(({ key, value }) => [key[2]!, value as ProgressState]);
  }

  mark(name: string): Mark {
    return (this.#get(['mark', name]) as Mark | undefined) ?? 0;
  }

  marks(): Readonly<Record<string, Mark>> {
    return Object.fromEntries(
      this.#under('mark').map(({ key, value }) => [key[1]!, value as Mark]),
    );
  }

  /** Every moment from the first transaction on, in order. */
  *history(): Generator<Moment> {
    for (const { key, value } of this.#history?.getRange() ?? []) {
      yield unsealJson(value, `commit ${key} in the log's history`) as Moment;
    }
  }

  /** Number that the next transaction gets. */
  historyEnd(): number {
    const [last] = this.#history?.getKeys({ reverse: true, limit: 1 }) ?? [];
    return last === undefined ? 0 : last + 1;
  }

  schemas(topic: string): readonly unknown[] {
    return (this.#get(['schemas', topic]) as readonly unknown[] | undefined) ?? [];
  }

  /** Runs of the topic's index by key. */
  runs(topic: string): readonly Run[] {
    return (this.#get(['keys', topic]) as readonly Run[] | undefined) ?? [];
  }

  keys(topic: string, from: number, page: number): Buffer | undefined {
    return this.#keys?.getBinary([topic, from, page]);
  }

  /** All that `work` writes, or nothing. Resolves once it is on disk; rejects with the system's reason. */
  async write(work: (writes: Writes) => void): Promise<void> {
    this.#isLooked = false;
    this.#mustBeThere();
    try {
      await this.#env.transaction(() => {
        work({
          put: (topic, offset, envelope) =>
            unheard(this.#records.put([topic, offset], seal(envelope))),
          putHead: (topic, head) => this.#set(['head', topic], head),
          putProgress: (topic, group, progress) => this.#set(['group', topic, group], progress),
          putMark: (name, value) => this.#set(['mark', name], value),
          putSchemas: (topic, schemas) => this.#set(['schemas', topic], schemas),
          putMoment: (number, moment) => unheard(this.#history?.put(number, sealJson(moment))),
          putKeys: (topic, from, page, bytes) =>
            unheard(this.#keys?.put([topic, from, page], bytes)),
          removeKeys: (topic, from, page) => unheard(this.#keys?.remove([topic, from, page])),
          clearKeys: (topic) => {
            const all = { start: [topic, 0, 0], end: [topic, Number.MAX_SAFE_INTEGER, 0] };
            for (const key of [...(this.#keys?.getKeys(all as never) ?? [])]) {
              unheard(this.#keys?.remove(key));
            }
            this.#set(['keys', topic], []);
          },
          putRuns: (topic, runs) => this.#set(['keys', topic], runs),
        });
      });
    } catch (error) {
      throw about(this.#path, await reasonOf(error));
    }
    this.#isLooked = false;
    this.#mustBeThere();
  }

  /** Runs `work` while no other process can. */
  exclusively<T>(work: () => T): T {
    try {
      return this.#env.transactionSync(work);
    } catch (error) {
      throw about(this.#path, error);
    }
  }

  async close(): Promise<void> {
    this.#file.close();
    await this.#env.close();
  }

  /**
   * Fails with code `DAMAGED` once the file was cut, or is no longer the one in the folder: what is written
   * then is lost.
   */
  #mustBeThere(): void {
    if (this.#isLooked) return;
    const why = this.#file.damage();
    if (why !== null) throw damaged(this.#path, why);
    this.#isLooked = true;
    setImmediate(() => {
      this.#isLooked = false;
    }).unref();
  }

  #get(key: string[]): unknown {
    const text = this.#state.get(key);
    return text === undefined ? undefined : unsealJson(text, placeOf(key));
  }

  /** The same, and what was read last if it has not changed. */
  #again(key: string[]): unknown {
    const text = this.#state.get(key);
    if (text === undefined) return undefined;
    const place = placeOf(key);
    const known = this.#known.get(place);
    if (known?.text === text) return known.value;
    const value = unsealJson(text, place);
    this.#known.set(place, { text, value });
    return value;
  }

  #set(key: string[], value: unknown): void {
    unheard(this.#state.put(key, sealJson(value)));
  }

  #under(...prefix: string[]): { key: string[]; value: unknown }[] {
    const range = this.#state.getRange({ start: prefix, end: [...prefix, '\u{10ffff}'] });
    return [...range].map(({ key, value }) => ({ key, value: unsealJson(value, placeOf(key)) }));
  }
}

/**
 * A damaged file would end the process that maps it. An empty file that is to be written was left by a
 * process killed while creating it.
 */
function mustBeWhole(path: string, readOnly: boolean): void {
  if (!readOnly && (!existsSync(path) || statSync(path).size === 0)) return;
  const why = lmdbDamage(path);
  if (why === null) return;
  throw damaged(path, why);
}

function damaged(path: string, why: string): MillraceError<'DAMAGED'> {
  return new MillraceError('DAMAGED', `${path} ${why}: ${AFTER_DAMAGE}`, {
    context: { path, why },
  });
}

/** What an error calls the log's entry for a topic, a group or a mark. */
function placeOf(key: readonly string[]): string {
  return `the log's entry ${key.join(' ')}`;
}

/** Each put of a failed transaction rejects too; the transaction has already reported the failure. */
function unheard(put: Promise<unknown> | undefined): void {
  put?.catch(() => undefined);
}

/** lmdb keeps the reason of a failed transaction in a promise of its own. */
async function reasonOf(error: unknown): Promise<unknown> {
  const { commitError } = error as { readonly commitError?: Promise<unknown> };
  if (commitError === undefined) return error;
  return commitError.then(
    () => error,
    (reason: unknown) => reason,
  );
}
