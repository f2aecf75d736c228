/**
 * A job in turns on two logs, of which one is watched (by a tap, by a page): its rate and its processor time
 * side by side.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { writeRunRecord } from '../cli/runRecord.ts';
import { logFolder } from '../cli/runs.ts';
import { openLog } from '../streams/embedded/openLog.ts';
import { flow } from '../streams/flow.ts';
import type { Log } from '../streams/log.ts';
import { mapEach } from '../streams/primitives.ts';
import { runFlow } from '../streams/run/runFlow.ts';
import { source, stage } from '../streams/stage.ts';
import { metric, question, rollout } from '../test/support/records.ts';
import { type Rollout, topics } from '../topics/index.ts';
import { median, pause, type Row, timeMs } from './table.ts';

/** Records of one turn, and the service time of a rollout, of which `concurrency` are under way at once. */
export interface Work {
  readonly name: string;
  readonly records: number;
  readonly serviceMs: number;
  readonly concurrency: number;
  readonly goal: number | null;
}

/** Each rollout takes its time, as with a model. */
export const paced: Work = {
  name: 'paced',
  records: 300,
  serviceMs: 40,
  concurrency: 8,
  goal: 0.98,
};

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

/** A new run with one record. */
export async function openWatched(runs: string, name: string): Promise<Log> {
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

export interface Pairs {
  readonly watched: Log;
  readonly alone: Log;
  readonly turns: number;
  readonly what: string;
  readonly against: string;
  /** Around each turn of the one that is watched; not counted. */
  readonly before: () => Promise<void>;
  readonly after: () => Promise<void>;
}

/** Its rate and its processor time: the middle of the turns. */
export async function pairs(each: Work, how: Pairs): Promise<Row[]> {
  const [ours, theirs]: [Cost[], Cost[]] = [[], []];
  for (let turn = 0; turn < how.turns; turn++) {
    const name = `${each.name} ${turn}`;
    const seen = async (): Promise<void> => {
      await how.before();
      ours.push(await costOf(() => work(how.watched, name, each)));
      await how.after();
    };
    const unseen = async (): Promise<void> => {
      theirs.push(await costOf(() => work(how.alone, name, each)));
    };
    // Neither is always the first.
    for (const one of turn % 2 === 0 ? [seen, unseen] : [unseen, seen]) await one();
  }
  const { records, goal } = each;
  const middle = (costs: readonly Cost[], of: (cost: Cost) => number): number =>
    median(costs.map(of));
  const rates = [ours, theirs].map((costs) => (1000 * records) / middle(costs, ({ ms }) => ms));
  const cpu = [ours, theirs].map((costs) => (1000 * middle(costs, ({ cpuMs }) => cpuMs)) / records);
  const row = { what: how.what, against: how.against };
  return [
    { ...row, ...pair(rates), ratio: rates[0]! / rates[1]!, unit: 'rollouts/s', goal },
    { ...row, ...pair(cpu), ratio: cpu[1]! / cpu[0]!, unit: 'µs CPU a rollout', goal: null },
  ];
}

function pair([ours, theirs]: readonly number[]): { ours: number; theirs: number } {
  return { ours: ours!, theirs: theirs! };
}
