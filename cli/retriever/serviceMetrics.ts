/** The metrics of a retriever's service, for Prometheus. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { processMetrics } from '../metrics/processMetrics.ts';

/** The state at the time of a scrape. */
export interface ServiceState {
  readonly ready: boolean;
  readonly passages: number;
  readonly waiting: number;
  readonly running: number;
}

export interface ServiceMetrics {
  /** A request was answered. */
  answered(route: string, status: number, seconds: number): void;
  /** Queries of a request, and how many of them came from the cache. */
  queries(all: number, kept: number): void;
  batch(queries: number): void;
  text(): Promise<string>;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const QUERIES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export function serviceMetrics(state: () => ServiceState): ServiceMetrics {
  const register = new Registry();
  const registers = [register];
  const named = (name: string, help: string) => ({
    name: `millrace_retriever_${name}`,
    help,
    registers,
  });
  const requests = new Counter({
    ...named('requests_total', 'Requests by route and HTTP status.'),
    labelNames: ['route', 'status'] as const,
  });
  const seconds = new Histogram({
    ...named('request_duration_seconds', 'Time from a request to its answer, waiting included.'),
    labelNames: ['route'] as const,
    buckets: SECONDS,
  });
  const queries = new Counter(named('queries_total', 'Queries answered.'));
  const kept = new Counter(named('kept_queries_total', 'Queries answered from the cache.'));
  const batches = new Histogram({
    ...named('batch_queries', 'Different queries per batch.'),
    buckets: QUERIES,
  });
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      ...named(name, help),
      collect() {
        this.set(value());
      },
    });
  gauge('ready', '1 if the service answers queries.', () => Number(state().ready));
  gauge('passages', 'Passages in the index.', () => state().passages);
  gauge('waiting_queries', 'Queries waiting for a batch.', () => state().waiting);
  gauge('running_batches', 'Batches in progress.', () => state().running);
  for (const metric of processMetrics()) register.registerMetric(metric);
  return {
    answered(route, status, took) {
      requests.inc({ route, status: String(status) });
      seconds.observe({ route }, took);
    },
    queries(all, there) {
      queries.inc(all);
      kept.inc(there);
    },
    batch: (count) => batches.observe(count),
    text: () => register.metrics(),
  };
}
