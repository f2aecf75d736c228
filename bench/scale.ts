/**
 * `npm run bench:scale`: one Kafka run split over processes by the command line, with 1, 2 and 4 rollout
 * workers.
 *
 * The engine takes a fixed time for each request and so many at once, as one on another machine does: a
 * worker can do no more than rows over time. What is measured is how much of n times one worker n workers
 * reach, in a stretch in which every partition has questions left. Needs a broker (`npm run kafka`, or
 * MILLRACE_KAFKA=host:port).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { openKafkaLog } from '../streams/kafka/openKafkaLog.ts';
import type { Log } from '../streams/log.ts';
import type { WorkerStatus } from '../streams/run/workerStatus.ts';
import { allTopics, topics } from '../topics/index.ts';
import { benchmark, counts, positive } from './options.ts';
import { pause, print, type Row, type Unmeasured } from './table.ts';

interface Options {
  readonly workers: readonly number[];
  readonly seconds: number;
  readonly loud: boolean;
  readonly json: boolean;
}

const { workers, seconds, loud, json } = benchmark(
  'npm run bench:scale',
  `Rollouts a second of several processes with the rollout stage of one Kafka run, beside as many times one of
them. Needs a broker (npm run kafka, or MILLRACE_KAFKA=host:port).`,
)
  .option('--workers <N,N>', 'rollout workers, one measurement each', counts, [1, 2, 4])
  .option('--seconds <N>', 'how long each is measured', positive, 20)
  .option('--loud', 'show what the processes print', false)
  .parse()
  .opts<Options>();
const MEASURED_MS = seconds * 1000;
const PARTITIONS = 8;
/** Two requests a rollout, for there is a search between them. */
const REQUESTS = 2;
const [QUESTIONS_AT_ONCE, ROLLOUTS, SERVICE_MS] = [4, 4, 250];
/** What one worker can do at most. */
const LIMIT = (1000 * QUESTIONS_AT_ONCE * ROLLOUTS) / (SERVICE_MS * REQUESTS);
/**
 * What is there before it is measured: enough for all to have begun, and for the slowest partition to last.
 */
const SPARE = 2;
const GOAL = 0.9;

const address = process.env.MILLRACE_KAFKA ?? '127.0.0.1:9092';
const url = `kafka://${address}?partitions=${PARTITIONS}`;

/** `millrace run` of the job, as a user starts it. */
function start(runs: string, run: string, ...args: readonly string[]): ChildProcess {
  const command = ['cli/main.ts', 'run', 'bench/scale/job.ts', '--run', run, '--runs', runs];
  const child = spawn(process.execPath, ['--import', 'tsx', ...command, ...args], {
    stdio: ['ignore', 'inherit', loud ? 'inherit' : 'ignore'],
  });
  child.once('exit', (code) => {
    if (code !== null && code !== 0) console.error(`${args.join(' ')} ended with code ${code}`);
  });
  return child;
}

async function end(children: readonly ChildProcess[]): Promise<void> {
  const running = children.filter(({ exitCode }) => exitCode === null);
  await Promise.all(
    running.map(async (child) => {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }),
  );
}

const recordsIn = async (log: Log, topic: string): Promise<number> =>
  (await log.stats()).find((stat) => stat.topic === topic)?.records ?? 0;

/** Rollouts a second of this many workers. */
async function rateOf(workers: number, runs: string): Promise<number> {
  const run = `scale-${process.pid}-${workers}`;
  const questions = Math.ceil((SPARE * workers * LIMIT * (seconds + 15)) / ROLLOUTS);
  const settings = [
    ...['--set', `questions=${questions}`, '--set', `rollouts=${ROLLOUTS}`],
    ...['--set', `concurrency=${QUESTIONS_AT_ONCE}`, '--set', `serviceMs=${SERVICE_MS}`],
  ];
  const main = start(runs, run, '--log', url, '--except', 'rollout', ...settings);
  const children = [main];
  let log: Log | null = null;
  try {
    log = await opened(run, main);
    while ((await recordsIn(log, topics.questions.name)) < Math.min(questions, 4000)) {
      await pause(100);
    }
    for (let i = 0; i < workers; i++) {
      children.push(start(runs, run, '--only', 'rollout', '--worker', `w${i}`));
    }
    await allWork(log, workers);
    const before = { records: await recordsIn(log, topics.rollouts.name), atMs: performance.now() };
    await pause(MEASURED_MS);
    const records = (await recordsIn(log, topics.rollouts.name)) - before.records;
    return (1000 * records) / (performance.now() - before.atMs);
  } finally {
    await log?.close();
    await end(children);
  }
}

/** The log to read, once the first process has made it. */
async function opened(run: string, main: ChildProcess): Promise<Log> {
  for (;;) {
    try {
      return await openKafkaLog({ topics: allTopics, url, run, mode: 'read' });
    } catch (error) {
      if (main.exitCode !== null) throw error;
      await pause(200);
    }
  }
}

/** Every worker has said that it settles questions, and partitions have stopped moving. */
async function allWork(log: Log, workers: number): Promise<void> {
  for (;;) {
    const posts = (await log.posted!()) as readonly WorkerStatus[];
    const busy = posts.filter(({ worker, stages }) => {
      return worker.startsWith('w') && stages.some(({ settled }) => settled > 0);
    });
    if (busy.length === workers) break;
    await pause(250);
  }
  await pause(3000);
}

async function rows(): Promise<readonly (Row | Unmeasured)[]> {
  const why = await openKafkaLog({
    topics: allTopics,
    url,
    run: 'none',
    mode: 'read',
    openMs: 3000,
  }).then(
    () => null,
    (error: unknown) => ((error as { code?: string }).code === 'NO_LOG' ? null : messageOf(error)),
  );
  const against = 'as many times one worker';
  if (why !== null) {
    const reason = `no broker at ${address} (start one with npm run kafka): ${why}`;
    return workers.map((n) => ({ what: `${n} rollout workers`, against, reason }));
  }
  const runs = mkdtempSync(join(tmpdir(), 'millrace-scale-'));
  const made: Row[] = [];
  try {
    let one = 0;
    for (const n of workers) {
      const rate = await rateOf(n, runs);
      const each = rate / n;
      if (one === 0) one = each;
      made.push({
        what: `${n} rollout workers`,
        against,
        ratio: each / one,
        goal: GOAL,
        unit: 'rollouts/s',
        ours: rate,
        theirs: one * n,
        note: `${Math.round((100 * each) / LIMIT)} % of what the engines can do`,
      });
    }
  } finally {
    rmSync(runs, { recursive: true, force: true });
  }
  return made;
}

print('Scale-out over Kafka', await rows(), json);
