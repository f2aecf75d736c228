/**
 * What a tap costs the job it watches: `npm run bench:tap`.
 *
 * One flow, from questions through rollouts of 10 KB to their scores, runs in turns on two embedded logs, of which one is
 * followed by `millrace tap '…*' -f -o ndjson` in another process. Before the next turn the tap has told that it has
 * read everything, so it does nothing while the other log is worked on. `paced` gives each rollout a service time, as a
 * model does; `flat out` is bound by encoding and commits, and there the tap competes for the machine. The processor time
 * of the job's own process is told beside its rate: it says what a tap costs where the machine has room for both.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { writeRunRecord } from '../cli/runRecord.ts';
import { logFolder } from '../cli/runs.ts';
import { openLog } from '../streams/embedded/openLog.ts';
import { flow } from '../streams/flow.ts';
import type { Log } from '../streams/log.ts';
import { mapEach } from '../streams/primitives.ts';
import type { Rollout } from '../streams/records.ts';
import { runFlow } from '../streams/run/runFlow.ts';
import { source, stage } from '../streams/stage.ts';
import { topics } from '../streams/topics.ts';
import { metric, question, rollout } from '../test/support/records.ts';
import { benchmark } from './options.ts';
import { folderOnDisk, median, pause, print, type Row, timeMs } from './table.ts';

const { json } = benchmark(
  'npm run bench:tap',
  `The rate of a job whose topics are all followed by a tap in another process, beside the same job
without one: where each rollout takes time, as with a model, and flat out.`,
)
  .parse()
  .opts<{ json: boolean }>();

const TURNS = 15;
/** Records of one turn, and the service time of a rollout, of which `concurrency` are under way at once. */
const WORKS = [
  { name: 'paced', records: 300, serviceMs: 40, concurrency: 8, goal: 0.98 },
  { name: 'flat out', records: 1_000, serviceMs: 0, concurrency: 64, goal: null },
] as const;
type Work = (typeof WORKS)[number];

const TOKENS = 1_000;
const model: Rollout = rollout({
  prompt: Int32Array.from({ length: 250 }, (_, i) => i),
  tokens: Int32Array.from({ length: TOKENS }, (_, i) => (i * 7919) % 150_000),
  logProbs: Float32Array.from({ length: TOKENS }, (_, i) => -1 / (1 + i)),
  text: 'the quick brown fox '.repeat(100),
});

/** One turn: so many questions through two stages, until nothing moves. */
async function work(
  log: Log,
  turn: string,
  { records, serviceMs, concurrency }: Work,
): Promise<void> {
  function* questions() {
    for (let i = 0; i < records; i++) yield { value: question({ id: `${turn}-${i}` }) };
  }
  const roll = mapEach(
    async (asked: Rollout['question']) => {
      if (serviceMs > 0) await pause(serviceMs);
      return { ...model, id: `${asked.id}/explore-0/0`, question: asked };
    },
    { concurrency },
  );
  const score = mapEach(({ tokens }: Rollout) => metric({ value: tokens.length }), { concurrency });
  await runFlow(
    flow(
      source(turn, topics.questions, questions()),
      stage('roll', topics.questions, topics.rollouts, roll),
      stage('score', topics.rollouts, topics.metrics, score),
    ),
    { log },
  );
}

interface Watched {
  readonly process: ChildProcess;
  /** Resolves when the tap has read so many records, and is at the end. */
  hasRead(records: number): Promise<void>;
}

const STATS_MS = 200;

/** A following tap in another process; its records go nowhere, its statistics to us. */
function startTap(runs: string, run: string): Watched {
  const args = ['tap', `${run}.*`, '--runs', runs, '-f', '--from', 'earliest', '-o', 'ndjson'];
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', 'cli/main.ts', ...args, '--stats', `${STATS_MS}ms`],
    { stdio: ['ignore', openSync('/dev/null', 'w'), 'pipe'] },
  );
  const read = new Map<string, { read: number; behind: number }>();
  createInterface({ input: child.stderr! }).on('line', (line) => {
    const cells = line.trim().split(/ {2,}/);
    if (cells.length !== 6 || cells[0] === 'topic') return;
    read.set(cells[0]!, { read: Number(cells[3]), behind: Number(cells[5]) });
  });
  return {
    process: child,
    async hasRead(records) {
      for (;;) {
        const told = [...read.values()];
        const sum = told.reduce((all, topic) => all + topic.read, 0);
        if (sum >= records && told.every(({ behind }) => behind === 0)) return;
        assert.equal(child.exitCode, null, 'the tap has ended');
        await pause(STATS_MS / 2);
      }
    },
  };
}

async function openRun(runs: string, name: string): Promise<Log> {
  const folder = join(runs, name);
  mkdirSync(folder);
  await writeRunRecord(folder, {
    millrace: '0',
    job: { name: 'bench', file: 'bench' },
    seed: 1,
    settings: {},
    status: 'running',
    starts: [{ startedMs: 0, endedMs: null }],
    reason: '',
  });
  const log = await openLog({ folder: logFolder(folder), mode: 'write' });
  await log.commit((tx) => tx.append(topics.metrics, metric()));
  return log;
}

/** What one turn took, of the clock and of this process's processors. */
interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
}

async function costOf(turn: () => Promise<void>): Promise<Cost> {
  const before = process.cpuUsage();
  const ms = await timeMs(turn);
  const { user, system } = process.cpuUsage(before);
  return { ms, cpuMs: (user + system) / 1000 };
}

async function rowsOf(each: Work, watched: Log, alone: Log, tap: Watched): Promise<Row[]> {
  const [ours, theirs]: [Cost[], Cost[]] = [[], []];
  for (let turn = 0; turn < TURNS; turn++) {
    const name = `${each.name} ${turn}`;
    const tapped = async (): Promise<void> => {
      ours.push(await costOf(() => work(watched, name, each)));
      const written = await watched.stats();
      await tap.hasRead(written.reduce((sum, { records }) => sum + records, 0));
    };
    const untapped = async (): Promise<void> => {
      theirs.push(await costOf(() => work(alone, name, each)));
    };
    // Neither is always the first.
    for (const one of turn % 2 === 0 ? [tapped, untapped] : [untapped, tapped]) await one();
  }
  const { records, goal } = each;
  const middle = (costs: readonly Cost[], of: (cost: Cost) => number): number =>
    median(costs.map(of));
  const rates = [ours, theirs].map((costs) => (1000 * records) / middle(costs, ({ ms }) => ms));
  const cpu = [ours, theirs].map((costs) => (1000 * middle(costs, ({ cpuMs }) => cpuMs)) / records);
  const row = { what: `a tapped job, ${each.name}`, against: 'the same without a tap' };
  return [
    { ...row, ...pair(rates), ratio: rates[0]! / rates[1]!, unit: 'rollouts/s', goal },
    { ...row, ...pair(cpu), ratio: cpu[1]! / cpu[0]!, unit: 'µs CPU a rollout', goal: null },
  ];
}

function pair([ours, theirs]: readonly number[]): { ours: number; theirs: number } {
  return { ours: ours!, theirs: theirs! };
}

const runs = folderOnDisk('bench-tap');
const watched = await openRun(runs, 'watched');
const alone = await openRun(runs, 'alone');
const tap = startTap(runs, 'watched');
try {
  await tap.hasRead(1);
  const rows: Row[] = [];
  for (const each of WORKS) rows.push(...(await rowsOf(each, watched, alone, tap)));
  print('Taps', rows, json);
} finally {
  tap.process.kill();
  await watched.close();
  await alone.close();
  rmSync(runs, { recursive: true, force: true });
}
