/**
 * A log that dies, and with it everything that writes to it: the nearest to `kill -9` within one process.
 *
 * After `commitsLeft` commits it is dead. The commit at which it dies either is written and no one learns of
 * it, or is not written. From then on every commit fails, and whatever awaits `life` never goes on.
 */
import type { Log } from '../../streams/log.ts';

export interface MortalLog {
  readonly log: Log;
  readonly dead: boolean;
  /** Commits that were made, or failed at the end. */
  readonly commits: number;
  /** Resolves at once while alive, never when dead. */
  life(): Promise<void>;
}

export interface Fate {
  readonly commitsLeft: number;
  /** Whether the last commit is on disk. */
  readonly lastIsWritten: boolean;
}

export function mortalLog(log: Log, { commitsLeft, lastIsWritten }: Fate): MortalLog {
  let left = commitsLeft;
  const killed = (): Error => new Error('killed');
  return {
    get dead() {
      return left < 0;
    },
    get commits() {
      return commitsLeft - left;
    },
    life: () => (left < 0 ? new Promise(() => undefined) : Promise.resolve()),
    log: {
      read: (topic, options) => log.read(topic, options),
      fetch: (topic, positions) => log.fetch(topic, positions),
      tap: (topic, options) => log.tap(topic, options),
      mark: (name) => log.mark(name),
      lag: (topic, group) => log.lag(topic, group),
      stats: () => log.stats(),
      close: () => log.close(),
      async commit(write) {
        if (left < 0) throw killed();
        left -= 1;
        if (left >= 0) return log.commit(write);
        if (lastIsWritten) await log.commit(write);
        throw killed();
      },
    },
  };
}
