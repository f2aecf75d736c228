/** Serves the numbers of a run to Prometheus, read from its log and from what its processes report. */
import type { Log } from '../../streams/index.ts';
import { statusesIn, Workers } from '../../summary/index.ts';
import { addOwn, addRun, addWorkers, Follower, Page } from '../../summary/prometheus/index.ts';
import type { Io } from '../io.ts';
import { readRunRecord } from '../runRecord.ts';
import type { Run } from '../runs.ts';
import { version } from '../version.ts';
import { LogReader } from './logReader.ts';
import { type Address, type Answers, serveMetrics } from './server.ts';

/** Until `stop` aborts. */
export async function serveRun(
  address: Address,
  { run, log, stop }: { readonly run: Run; readonly log: Log; readonly stop: AbortSignal },
  io: Io,
): Promise<void> {
  const follower = new Follower(log, io.clock.now());
  try {
    const server = await serveMetrics(address, answers(run, log, follower));
    io.err(`metrics of run ${run.name} at ${server.url}`);
    await aborted(stop);
    await server.close();
  } finally {
    follower.stop();
  }
}

function answers(run: Run, log: Log, { tallies, following }: Follower): Answers {
  const reader = new LogReader(log);
  const workers = new Workers();
  let facts = run.record;
  let fresh = false;
  let scrapes = 0;
  return {
    async metrics() {
      const page = new Page({ run: run.name });
      scrapes += 1;
      addOwn(page, { version, node: process.version, scrapes });
      facts = (await readRunRecord(run.folder).catch(() => null)) ?? facts;
      const sizes = await reader.sizes();
      fresh = sizes.fresh;
      const posted = fresh ? await log.posted?.().catch(() => []) : undefined;
      addWorkers(
        page,
        workers.update(statusesIn(posted ?? [])).map(({ now }) => now),
      );
      addRun(page, { facts, tallies, following, ...sizes });
      return page.text();
    },
    health: () => ({ ok: true, why: 'ok' }),
    ready: () =>
      fresh || scrapes === 0
        ? { ok: true, why: 'reading' }
        : { ok: false, why: 'the log is not answering' },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    // The server must not keep the process alive, so that it never delays the end of a run.
    const alive = setInterval(() => undefined, 60_000);
    signal.addEventListener(
      'abort',
      () => {
        clearInterval(alive);
        resolve();
      },
      { once: true },
    );
  });
}
