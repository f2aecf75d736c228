/**
 * What a running job reports to monitoring: its own stages, and, if this process leads the run, what is in
 * the run's log. So a run that many processes share is counted once.
 */
import { hostname } from 'node:os';
import { type Clock, type Outage, ownBytes } from '../../base/index.ts';
import type { Log } from '../../streams/index.ts';
import type { FlowStats } from '../../streams/run/index.ts';
import type { RunFacts } from '../../summary/facts/index.ts';
import {
  addOwn,
  addRun,
  addWorkers,
  Follower,
  Page,
  processFamilies,
} from '../../summary/prometheus/index.ts';
import { version } from '../version.ts';
import { LogReader } from './logReader.ts';
import { processMetrics } from './processMetrics.ts';
import { type Address, type Answers, serveMetrics, type Verdict } from './server.ts';

/** The state of the process. */
type State = 'building' | 'running' | 'paused' | 'stopping' | 'failed';

/** The run reports its progress here. */
export interface RunExporter {
  /** Of `/metrics`; null if not requested. */
  readonly url: string | null;
  onStats(stats: FlowStats): void;
  state(state: State): void;
  outage(outage: Outage): void;
  /** This process leads the run: from now on the log is read too. */
  leads(log: Log): void;
  /** The log is about to be closed. */
  detach(): void;
  close(): Promise<void>;
}

export interface ExporterOptions {
  readonly run: string;
  readonly worker: string;
  readonly facts: RunFacts;
  readonly clock: Clock;
}

/** For a run without metrics over HTTP. */
export const noExporter: RunExporter = {
  url: null,
  onStats: () => undefined,
  state: () => undefined,
  outage: () => undefined,
  leads: () => undefined,
  detach: () => undefined,
  close: () => Promise.resolve(),
};

/** Serves it at once, so that a port in use is noticed before the run begins. */
export async function exportRun(at: Address, options: ExporterOptions): Promise<RunExporter> {
  const exporter = new Exporter(options);
  const server = await serveMetrics(at, exporter);
  return {
    url: server.url,
    onStats: (stats) => exporter.onStats(stats),
    state: (state) => exporter.state(state),
    outage: (outage) => exporter.outage(outage),
    leads: (log) => exporter.leads(log),
    detach: () => exporter.detach(),
    async close() {
      exporter.detach();
      await server.close();
    },
  };
}

class Exporter implements Answers {
  readonly #options: ExporterOptions;
  readonly #startedMs: number;
  #state: State = 'building';
  #stats: FlowStats | null = null;
  #led: { readonly follower: Follower; readonly reader: LogReader } | null = null;
  #scrapes = 0;
  /** Addresses of servers that do not answer. */
  readonly #away = new Set<string>();

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#startedMs = options.clock.now();
  }

  onStats(stats: FlowStats): void {
    this.#stats = stats;
  }

  state(state: State): void {
    this.#state = state;
  }

  outage({ server, state }: Outage): void {
    if (server === null) return;
    if (state === 'away') this.#away.add(server);
    else this.#away.delete(server);
  }

  leads(log: Log): void {
    const nowMs = this.#options.clock.now();
    this.#led ??= { follower: new Follower(log, nowMs), reader: new LogReader(log) };
  }

  detach(): void {
    this.#led?.follower.stop();
    this.#led = null;
  }

  health(): Verdict {
    return { ok: this.#state !== 'failed', why: this.#state };
  }

  ready(): Verdict {
    return { ok: ['running', 'paused'].includes(this.#state), why: this.#state };
  }

  async metrics(): Promise<string> {
    const { run, worker, facts } = this.#options;
    const page = new Page({ run });
    this.#scrapes += 1;
    addOwn(page, { version, node: process.version, scrapes: this.#scrapes });
    page.add(processFamilies.away, [worker], this.#away.size);
    for (const metric of processMetrics()) page.addKept(metric);
    const stats = this.#stats ?? { atMs: this.#startedMs, stages: [], sources: [] };
    const memoryBytes = ownBytes();
    const own = { worker, host: hostname(), pid: process.pid, startedMs: this.#startedMs };
    addWorkers(page, [{ ...own, ...stats, memoryBytes, ended: false }]);
    if (this.#led !== null) {
      const { follower, reader } = this.#led;
      const { tallies, following } = follower;
      addRun(page, { facts, tallies, following, ...(await reader.sizes()) });
    }
    return page.text();
  }
}
