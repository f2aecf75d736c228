/** A target outside that keeps metrics in memory; every opening goes on with what it has. */
import { advanced, BEGINNING, type Cursor } from '../../sinks/outside/cursor.ts';
import type { MetricTarget, RunEnd } from '../../sinks/outside/exportMetrics.ts';
import type { Stored } from '../../streams/log.ts';
import type { Metric } from '../../topics/index.ts';

export interface MemoryTarget extends MetricTarget {
  readonly kept: Stored<Metric>[];
  readonly ends: RunEnd[];
  /** Resolves once it has so many. */
  has(count: number): Promise<void>;
}

export function memoryTarget(): MemoryTarget {
  const kept: Stored<Metric>[] = [];
  const ends: RunEnd[] = [];
  let cursor: Cursor = BEGINNING;
  let look = (): void => undefined;
  return {
    kept,
    ends,
    has: (count) =>
      new Promise((resolve) => {
        look = () => {
          if (kept.length >= count) resolve();
        };
        look();
      }),
    open: async () => cursor,
    async write(batch) {
      kept.push(...batch);
      cursor = advanced(cursor, batch);
      look();
    },
    close: async (end) => void ends.push(end),
  };
}
