/** What an evaluation has found, computed from the records of its run. The same records give the same report. */
import { lastValueFrom, toArray } from 'rxjs';
import { type Sampling, samplingIn } from '../../model/sampling.ts';
import { type BenchmarkTable, benchmarkTable } from '../../operators/metrics/table.ts';
import type { Log } from '../../streams/log.ts';
import type { Scored } from '../../streams/records.ts';
import type { Topic } from '../../streams/topic.ts';
import { topics } from '../../streams/topics.ts';
import type { RunStatus } from '../runRecord.ts';
import type { Run } from '../runs.ts';
import { type EvalSettings, evalSettings } from './evalSettings.ts';

export interface EvalReport extends BenchmarkTable, Required<Sampling> {
  readonly run: string;
  readonly status: RunStatus;
  readonly seed: number;
  readonly policy: { readonly name: string; readonly sha256: string };
  /** Name of the model that judged; null where nobody did. */
  readonly judge: string | null;
  readonly questions: number;
  readonly rollouts: number;
  readonly tools: readonly string[];
  /** Rollouts that failed or were cancelled: they count as wrong. */
  readonly failedRollouts: number;
  readonly deadLetters: number;
  /** Time that the run was running, all starts together. */
  readonly seconds: number;
}

/** The scored groups of an evaluation, by question, so that nothing depends on which was finished first. */
export async function evaluatedGroups(log: Log): Promise<readonly Scored[]> {
  const scored = await all(log, topics.scored);
  return scored
    .filter(({ question }) => question.phase === 'evaluate')
    .sort((a, b) => (a.question.id < b.question.id ? -1 : 1));
}

/** Of a run of `evalJob` and its groups. */
export async function evalReport(
  log: Log,
  { name, record }: Run,
  scored: readonly Scored[],
): Promise<EvalReport> {
  const settings: EvalSettings = evalSettings.parse(record.settings);
  const order = [...new Set((await all(log, topics.questions)).map(({ source }) => source))];
  const [weights] = await all(log, topics.weights);
  const stats = await log.stats();
  return {
    run: name,
    status: record.status,
    seed: record.seed,
    policy: { name: settings.policyName || settings.policy, sha256: weights?.sha256 ?? '' },
    judge: settings.judge.url === '' ? null : settings.judge.model,
    questions: new Set(scored.map(({ question }) => question.id)).size,
    rollouts: settings.rollouts,
    ...samplingIn(settings),
    tools: settings.tools,
    failedRollouts: await failures(log),
    deadLetters: stats.find(({ topic }) => topic === topics.deadLetters.name)?.records ?? 0,
    seconds: runningSeconds(record.starts),
    ...benchmarkTable(scored, { seed: record.seed, order }),
  };
}

async function all<T>(log: Log, topic: Topic<T>): Promise<T[]> {
  const stored$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
  return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value);
}

async function failures(log: Log): Promise<number> {
  let failed = 0;
  await log
    .tap(topics.rollouts, { from: { kind: 'earliest' }, follow: false })
    .forEach(({ value }) => {
      if (value.status !== 'done') failed++;
    });
  return failed;
}

function runningSeconds(starts: Run['record']['starts']): number {
  const ms = starts.reduce(
    (sum, start) => sum + ((start.endedMs ?? start.startedMs) - start.startedMs),
    0,
  );
  return ms / 1000;
}
