/**
 * prom-client's measurements of this process: processor time, memory, its event loop, garbage collection.
 * Under the names that Prometheus users know (`process_*`, `nodejs_*`).
 */
import { Counter, collectDefaultMetrics, type Metric, Registry } from 'prom-client';

let kept: readonly Metric[] | null = null;

/** Measured from the first call on. */
export function processMetrics(): readonly Metric[] {
  if (kept !== null) return kept;
  const register = new Registry();
  collectDefaultMetrics({ register });
  // Metrics, though they are declared as descriptions.
  const all = register.getMetricsAsArray() as unknown as readonly (Metric & { name: string })[];
  // promtool objects to gauges (of active handles) with names ending in total.
  kept = all.filter((metric) => metric instanceof Counter || !metric.name.endsWith('_total'));
  return kept;
}
