/**
 * The longest time for which this thread's event loop answered nothing.
 *
 * Whatever blocks the loop (a native call, a long loop) holds up every topic, tool and timer of the process;
 * the model's work is in worker threads so that it does not. Measured by a timer of 10 ms that says how late
 * it is. (`monitorEventLoopDelay` of Node loses the gap in which it is reset, which is where a step begins.)
 */
const INTERVAL_MS = 10;

export interface LoopGap {
  /** Longest gap since the last `take` (since the start, at first), in milliseconds. */
  take(): number;
  stop(): void;
}

/** `now`: milliseconds; the process's monotonic clock by default. */
export function watchLoop(now: () => number = () => performance.now()): LoopGap {
  let lastMs = now();
  let longestMs = 0;
  const beat = () => {
    const atMs = now();
    longestMs = Math.max(longestMs, atMs - lastMs - INTERVAL_MS);
    lastMs = atMs;
  };
  const timer = setInterval(beat, INTERVAL_MS);
  // watching must not keep the process alive
  timer.unref();
  return {
    take() {
      // a gap that the timer has not reported yet
      const foundMs = Math.max(longestMs, now() - lastMs - INTERVAL_MS);
      longestMs = 0;
      lastMs = now();
      return foundMs;
    },
    stop: () => clearInterval(timer),
  };
}
