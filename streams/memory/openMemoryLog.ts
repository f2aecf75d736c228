/**
 * A log in memory. It keeps the contract of `log.ts` by the same code as the log in a folder; only the store
 * is another. What its `MemoryStore` holds outlives it: opened again over the same store, it goes on, as a
 * process does that was killed.
 */
import type { Clock } from '../../base/index.ts';
import type { Candidate, Shrinking } from '../archive/retain.ts';
import { EmbeddedLog } from '../embedded/openLog.ts';
import type { Log } from '../log.ts';
import type { MemoryStore } from './memoryStore.ts';

export interface MemoryLogOptions {
  readonly store: MemoryStore;
  /** Gives records their time. */
  readonly clock: Clock;
  /** What processes have said about themselves last; of the log's own unless given. */
  readonly board?: { about: unknown };
}

/** Opens the log to write. One at a time may be open over a store. */
export function openMemoryLog({ store, clock, board = { about: null } }: MemoryLogOptions): Log {
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
    shrinking: () => nothingLarge,
    later: queueMicrotask,
  });
}

/** Nothing leaves it. */
const nothingLarge: Shrinking<Candidate> = {
  keptBytes: () => 0,
  candidates: async () => [],
  move: async () => undefined,
};
