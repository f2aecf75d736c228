/**
 * A clock for simulations around real code: work takes the time that it takes, idle time is skipped.
 *
 * `now` is the real time since the start plus what was skipped. When nothing runs (no work under `during`, no
 * file operation, several quiet turns of the event loop) it jumps to the next sleeper. So what our own code
 * costs is charged at what it costs on this machine, and waiting for a simulated engine or tool costs no real
 * time. What runs unseen at a jump is charged the more: a mistake of this clock errs against the code under
 * test.
 */
import type { Clock } from '../../base/clock.ts';

export interface SkippingClock extends Clock {
  sleep(ms: number): Promise<void>;
  /** No idle time is skipped while `work` goes on. */
  during<T>(work: Promise<T>): Promise<T>;
  /** Stops skipping; sleepers then sleep forever. */
  close(): void;
}

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

/** Turns of the event loop without activity before time is skipped. */
const QUIET_TURNS = 6;

export function skippingClock(): SkippingClock {
  const startMs = performance.now();
  /** Soonest first. */
  const sleepers: Sleeper[] = [];
  let skippedMs = 0;
  let working = 0;
  let quiet = 0;
  let looking: NodeJS.Immediate | null = null;

  const now = (): number => performance.now() - startMs + skippedMs;

  const look = (): void => {
    looking = null;
    const next = sleepers[0];
    if (next === undefined) return;
    quiet = working === 0 && !filesBusy() ? quiet + 1 : 0;
    if (quiet >= QUIET_TURNS) {
      skippedMs += Math.max(0, next.atMs - now());
      quiet = 0;
    }
    for (let [first] = sleepers; first !== undefined && first.atMs <= now(); [first] = sleepers) {
      quiet = 0;
      sleepers.shift();
      first.wake();
    }
    again();
  };
  const again = (): void => {
    if (sleepers.length > 0) looking ??= setImmediate(look);
  };

  return {
    now: () => Math.floor(now()),
    sleep: (ms) =>
      new Promise((wake) => {
        const atMs = now() + ms;
        const place = sleepers.findLastIndex((sleeper) => sleeper.atMs <= atMs) + 1;
        sleepers.splice(place, 0, { atMs, wake });
        again();
      }),
    async during(work) {
      working += 1;
      try {
        return await work;
      } finally {
        working -= 1;
        quiet = 0;
      }
    },
    close: () => {
      if (looking !== null) clearImmediate(looking);
      sleepers.length = 0;
    },
  };
}

function filesBusy(): boolean {
  return process.getActiveResourcesInfo().some((name) => /^(FSReq|CloseReq|FileHandle)/.test(name));
}
