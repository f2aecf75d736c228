/**
 * Soak: `npm run soak`.
 *
 * An endless source that comes in bursts, a stage that keeps up with it, and a sink that does not, over the
 * real embedded log: what cannot be taken yet must wait on disk, not in memory. Reports records per second,
 * the growth of memory by least squares over the last half, and the largest queue. Garbage is collected
 * before memory is looked at, so that what grows is what is held. Exit code 1 when a bound is exceeded.
 */
import { readFileSync, rmSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { draws } from '../base/draws.ts';
import { openLog } from '../streams/embedded/openLog.ts';
import { flow } from '../streams/flow.ts';
import { mapEach } from '../streams/primitives.ts';
import { type FlowStats, runFlow } from '../streams/run/runFlow.ts';
import { type SourceItem, sink, source, stage } from '../streams/stage.ts';
import { question, rollout } from '../test/support/records.ts';
import { type Question, type Rollout, topics } from '../topics/index.ts';
import { benchmark, positive } from './options.ts';
import { folderOnDisk, pause, print, type Row, slope } from './table.ts';

const { minutes, json } = benchmark(
  'npm run soak',
  `Memory and queues of a flow whose endless source comes in bursts and whose sink is slow, beside
their bounds. Exit code 1 when one is exceeded.`,
)
  .option('--minutes <N>', 'how long it runs', positive, 5)
  .parse()
  .opts<{ minutes: number; json: boolean }>();
const totalMs = minutes * 60_000;

/** How far the source may run ahead of its reader, and how many items it commits at once. */
const LEAD_MAX = 1_024;
const CHUNK = 64;
const WORK = { inflightMax: 64, concurrency: 8, ms: 4 };
const SLOW = { inflightMax: 32, ms: 2 };
/** How long it is quiet, then how long a burst lasts. */
const QUIET = { ms: 4_000, everyMs: 10 };
const BURST_MS = 4_000;
const SAMPLE_MS = 1_000;
/** Megabytes of our own memory (without the log's mapped file) that may be added per minute. */
const GROWTH_MAX = 4;
const MB = 1 << 20;

interface Sample {
  readonly ms: number;
  /** Resident, all of it. */
  readonly rss: number;
  /** Resident and not backed by a file if the system reports it (Linux), else `rss`. */
  readonly own: number;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function ownBytes(): number {
  try {
    const kB = /RssAnon:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    return kB === undefined ? process.memoryUsage.rss() : Number(kB) * 1024;
  } catch {
    return process.memoryUsage.rss();
  }
}

/** One question every 10 ms, then as many as requested, and so on until `signal` aborts. */
async function* bursts(signal: AbortSignal): AsyncGenerator<SourceItem<Question>> {
  for (let index = 0; !signal.aborted; index++) {
    const atMs = (performance.now() - startMs) % (QUIET.ms + BURST_MS);
    if (atMs < QUIET.ms) await pause(QUIET.everyMs);
    yield { value: question({ id: `q${index}` }) };
  }
}

/** A small rollout: 100 tokens. */
function answered({ id }: Question): Rollout {
  const chance = draws('soak', id);
  const tokens = Int32Array.from({ length: 100 }, (_, i) => chance.integer(i, 32_000));
  return rollout({ id: `${id}/explore-0/0`, tokens, logProbs: new Float32Array(100) });
}

const stop = new AbortController();
let lead = 0;
let last: FlowStats | null = null;
/** Most records that a stage held at once, by its name. */
const largest = new Map<string, number>();

function look(stats: FlowStats): void {
  last = stats;
  for (const { name, inflight } of stats.stages) {
    largest.set(name, Math.max(inflight, largest.get(name) ?? 0));
  }
}

const folder = folderOnDisk('soak');
const startMs = performance.now();
const samples: Sample[] = [];
const log = await openLog({ folder, mode: 'write' });
try {
  const work = mapEach(
    async (asked: Question) => {
      await pause(WORK.ms);
      return answered(asked);
    },
    { concurrency: WORK.concurrency },
  );
  const slow = mapEach(
    async (made: Rollout) => {
      await pause(SLOW.ms);
      return made;
    },
    { concurrency: 1 },
  );
  const sampling = setInterval(async () => {
    collect();
    const ms = performance.now() - startMs;
    samples.push({ ms, rss: process.memoryUsage.rss(), own: ownBytes() });
    lead = Math.max(lead, await log.lag(topics.questions, 'work'));
  }, SAMPLE_MS);
  const ending = setTimeout(() => stop.abort(), totalMs);
  await runFlow(
    flow(
      source('bursts', topics.questions, bursts(stop.signal), { leadMax: LEAD_MAX }),
      stage('work', topics.questions, topics.rollouts, work, { inflightMax: WORK.inflightMax }),
      sink('slow', topics.rollouts, null, slow, { inflightMax: SLOW.inflightMax }),
    ),
    { log, signal: stop.signal, onStats: look, statsMs: SAMPLE_MS },
  );
  clearInterval(sampling);
  clearTimeout(ending);
} finally {
  await log.close();
  rmSync(folder, { recursive: true, force: true });
}

const seconds = (performance.now() - startMs) / 1000;
const stages = last!.stages;
const half = samples.slice(samples.length >> 1);
const growth = (of: 'rss' | 'own'): number =>
  (slope(half.map((sample) => [sample.ms, sample[of]])) * 60_000) / MB;
const bound = (what: string, against: string, unit: string, ours: number, theirs: number): Row => ({
  what,
  against,
  ratio: ours / theirs,
  goal: 1,
  atMost: true,
  unit,
  ours,
  theirs,
});
const rates = stages.map(({ name, settled }): Row => {
  const rate = name === 'slow' ? 1000 / SLOW.ms : (1000 * WORK.concurrency) / WORK.ms;
  return {
    what: `${name}: records`,
    against: 'what its work allows',
    goal: null,
    unit: 'records/s',
    ours: settled / seconds,
    theirs: rate,
    ratio: settled / seconds / rate,
  };
});
const queues = stages.map(({ name, inflightMax }) =>
  bound(`${name}: largest queue`, 'inflightMax', 'records', largest.get(name) ?? 0, inflightMax),
);
const rows = [
  ...rates,
  ...queues,
  bound('source: lead over its reader', 'leadMax', 'records', lead, LEAD_MAX + 2 * CHUNK),
  bound('memory of our own, last half', 'a limit', 'MB/min', growth('own'), GROWTH_MAX),
  {
    ...bound('memory, with the log’s file', 'none', 'MB/min', growth('rss'), GROWTH_MAX),
    goal: null,
  },
];
print(`Soak, ${seconds.toFixed(0)} s`, rows, json);
if (!json) {
  const mb = (of: 'rss' | 'own'): number => Math.round(samples.at(-1)![of] / MB);
  console.log(`At the end ${mb('rss')} MB resident, ${mb('own')} MB of them our own.`);
}
process.exitCode = rows.every(({ goal, ratio }) => goal === null || ratio <= goal) ? 0 : 1;
