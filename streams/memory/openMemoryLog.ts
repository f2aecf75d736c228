/**
 * A log in memory. It keeps the contract of `log.ts` by the same code as the log in a folder; only the store
 * differs. What its `MemoryStore` holds outlives it: opened again over the same store, it continues as a
 * killed process does.
 */
import type { Clock } from '../../base/index.ts';
import { type Candidate, largeOf, type Shrinking } from '../archive/retain.ts';
import { EmbeddedLog } from '../embedded/openLog.ts';
import { shrinkingStore } from '../embedded/shrinkingStore.ts';
import type { Log } from '../log.ts';
import type { Topic } from '../topic.ts';
import type { MemoryStore } from './memoryStore.ts';

export interface MemoryLogOptions {
  readonly store: MemoryStore;
  /** Gives records their time. */
  readonly clock: Clock;
  /** The last posts of processes; of the log's own unless given. */
  readonly board?: { about: unknown };
  readonly retention?: MemoryRetention;
}

/** What may leave the log for its archive, which is also in the store. */
export interface MemoryRetention {
  /** Those of them that are `large`. */
  readonly topics: readonly Topic<unknown>[];
  /** Stands for the archive's disk, as `flush` of the store for the log's. */
  readonly write: (apply: () => void) => Promise<void>;
}

/** Opens the log to write. One at a time may be open over a store. */
export function openMemoryLog(options: MemoryLogOptions): Log {
  const { store, clock, board = { about: null }, retention } = options;
  return new EmbeddedLog({
    ...{ store, clock },
    mode: 'write',
    board: {
      async post(about) {
        board.about = JSON.parse(JSON.stringify(about));
      },
      posted: async () => (board.about === null ? [] : [board.about]),
    },
    unlock: () => undefined,
    shrinking: () => (retention === undefined ? nothingLarge : shrinking(store, retention)),
    later: queueMicrotask,
  });
}

function shrinking(store: MemoryStore, { topics, write }: MemoryRetention): Shrinking<Candidate> {
  return shrinkingStore(store, largeOf(topics), '', '', async (_, { of, from, to }, records) => {
    const file = `${of}/${from}`;
    await write(() => void store.files.set(file, records));
    return { from, to, file, digest: '', length: 0, plain: 0 };
  }) as Shrinking<Candidate>;
}

/** Nothing may leave it. */
const nothingLarge: Shrinking<Candidate> = {
  keptBytes: () => 0,
  candidates: async () => [],
  move: async () => undefined,
};
