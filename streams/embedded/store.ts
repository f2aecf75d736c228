/**
 * The layout of an embedded log on disk. The only file that knows lmdb.
 *
 * Two tables in one environment, so that one transaction covers both. `records`: (topic, offset) to an
 * envelope: 8 bytes time, 4 bytes schema number, then Avro. `state`: JSON, under the keys below. Every
 * commit is flushed to disk before it is visible (overlappingSync off: measured as fast here), so a
 * resolved write survives the death of the process, and power loss as far as the disk keeps its word.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { MillraceError } from '../errors.ts';
import type { ProgressState } from '../progress.ts';

export type Mode = 'write' | 'read';

export interface Envelope {
  readonly atMs: number;
  /** Number of the writer's schema in the topic's list. */
  readonly schema: number;
  readonly body: Buffer;
}

/** How far a topic goes. */
export interface Head {
  /** Offset that the next record gets. */
  readonly end: number;
  /** Envelopes and Avro together. */
  readonly bytes: number;
}

const HEADER_BYTES = 12;
const NO_HEAD: Head = { end: 0, bytes: 0 };

function seal(envelope: Envelope): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + envelope.body.length);
  bytes.writeDoubleLE(envelope.atMs, 0);
  bytes.writeUInt32LE(envelope.schema, 8);
  envelope.body.copy(bytes, HEADER_BYTES);
  return bytes;
}

function unseal(bytes: Buffer): Envelope {
  return {
    atMs: bytes.readDoubleLE(0),
    schema: bytes.readUInt32LE(8),
    body: bytes.subarray(HEADER_BYTES),
  };
}

/** What one transaction writes. */
export interface Writes {
  put(topic: string, offset: number, envelope: Envelope): void;
  putHead(topic: string, head: Head): void;
  putProgress(topic: string, group: string, progress: ProgressState): void;
  putMark(name: string, value: number): void;
  putSchemas(topic: string, schemas: readonly unknown[]): void;
}

export class Store {
  readonly #env: RootDatabase<unknown, string>;
  readonly #records: Database<Buffer, [string, number]>;
  readonly #state: Database<unknown, string[]>;

  constructor(folder: string, mode: Mode) {
    const path = join(folder, 'log.mdb');
    if (mode === 'write') mkdirSync(folder, { recursive: true });
    else if (!existsSync(path)) {
      throw new MillraceError('NO_LOG', `there is no log in ${folder}; check the run's name`, {
        context: { folder },
      });
    }
    const readOnly = mode === 'read';
    this.#env = open({ path, noSubdir: true, maxDbs: 2, overlappingSync: false, readOnly });
    // Places of readers that died would keep their pages from being used again.
    if (!readOnly) this.#env.readerCheck();
    this.#records = this.#env.openDB({ name: 'records', encoding: 'binary' });
    this.#state = this.#env.openDB({ name: 'state', encoding: 'json' });
  }

  /** See what other processes have committed since the last read. */
  refresh(): void {
    this.#env.resetReadTxn();
  }

  record(topic: string, offset: number): Envelope | undefined {
    const bytes = this.#records.getBinary([topic, offset]);
    return bytes === undefined ? undefined : unseal(bytes);
  }

  head(topic: string): Head {
    return (this.#state.get(['head', topic]) as Head | undefined) ?? NO_HEAD;
  }

  heads(): readonly (readonly [topic: string, head: Head])[] {
    return this.#under('head').map(({ key, value }) => [key[1]!, value as Head]);
  }

  progress(topic: string, group: string): ProgressState | undefined {
    return this.#state.get(['group', topic, group]) as ProgressState | undefined;
  }

  /** Every group that has settled something of the topic. */
  groups(topic: string): readonly (readonly [group: string, progress: ProgressState])[] {
    return this.#under('group', topic).map(({ key, value }) => [key[2]!, value as ProgressState]);
  }

  mark(name: string): number {
    return (this.#state.get(['mark', name]) as number | undefined) ?? 0;
  }

  schemas(topic: string): readonly unknown[] {
    return (this.#state.get(['schemas', topic]) as readonly unknown[] | undefined) ?? [];
  }

  /** All that `work` writes, or nothing. Resolves once it is on disk. */
  async write(work: (writes: Writes) => void): Promise<void> {
    await this.#env.transaction(() => {
      work({
        put: (topic, offset, envelope) => void this.#records.put([topic, offset], seal(envelope)),
        putHead: (topic, head) => this.#set(['head', topic], head),
        putProgress: (topic, group, progress) => this.#set(['group', topic, group], progress),
        putMark: (name, value) => this.#set(['mark', name], value),
        putSchemas: (topic, schemas) => this.#set(['schemas', topic], schemas),
      });
    });
  }

  /** Run `work` while no other process can do the same. */
  exclusively<T>(work: () => T): T {
    return this.#env.transactionSync(work);
  }

  close(): Promise<void> {
    return this.#env.close();
  }

  #set(key: string[], value: unknown): void {
    void this.#state.put(key, value);
  }

  #under(...prefix: string[]): { key: string[]; value: unknown }[] {
    const range = this.#state.getRange({ start: prefix, end: [...prefix, '\u{10ffff}'] });
    return [...range].map(({ key, value }) => ({ key, value }));
  }
}
