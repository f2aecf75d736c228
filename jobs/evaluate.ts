/**
 * `evaluate`: what one policy can do (ET-Agent §9), measured once.
 *
 *     questions ─► rollout (greedy or n) ─► score (benchmark numbers, jury) ─► measure ─► metrics
 *
 * Every number of every response is a part of its reward in `scored`; the table is computed from those
 * (`benchmarkTable`).
 */
import { of, tap } from 'rxjs';
import { z } from 'zod';
import { MillraceError } from '../base/index.ts';
import { grpo } from '../model/credit/index.ts';
import { describeSampling, type PolicyEngine } from '../model/index.ts';
import { samplingSettings } from '../model/text/index.ts';
import type { Dialect } from '../operators/dialect/index.ts';
import {
  type CallTool,
  measure,
  policyGate,
  type RolloutOptions,
  rollout,
  score,
} from '../operators/index.ts';
import { taskSuccess } from '../operators/metrics/deepAgent/index.ts';
import { type Jury, judgedBenchmark } from '../operators/metrics/graders/index.ts';
import { benchmarkTable, type NamedNumbers } from '../operators/metrics/index.ts';
import { sessionReward } from '../operators/rewards/index.ts';
import { Measuring, metricFiles, metricsIn, progress } from '../sinks/index.ts';
import { weightsStore } from '../sinks/weights/index.ts';
import { readDataset } from '../sources/index.ts';
import { type Flow, flow, type SourceItem, sink, source, stage } from '../streams/index.ts';
import { type Question, type Scored, topics } from '../topics/index.ts';
import type { JobContext } from './defineJob.ts';
import { promptRecord, writePrompt } from './parts/promptRecord.ts';
import { askedIn, inflightFor } from './policyLoop.ts';
import { positiveInt } from './policySettings.ts';
import { equalitySetting, verifierOf } from './verifier.ts';

/** Greedy, and one rollout a question, unless set. */
export const evaluateSettings = z.object({
  rollouts: positiveInt.default(1).describe('rollouts per question (n)'),
  ...samplingSettings,
  temperature: samplingSettings.temperature.default(0),
  responseMax: positiveInt.default(320).describe('maximum response tokens, tool results included'),
  callLimit: positiveInt.default(6).describe('maximum tool calls per rollout'),
  concurrency: positiveInt.default(24).describe('questions rolled out concurrently'),
  equality: equalitySetting,
  judgedAtOnce: positiveInt.default(8).describe('questions judged concurrently'),
});

/** The settings of `evaluate`, with all defaults filled in. */
export type EvaluateSettings = z.infer<typeof evaluateSettings>;

/** What the evaluation runs on. */
export interface EvaluateParts {
  readonly plan: EvaluationPlan;
  readonly engine: PolicyEngine;
  readonly tools: CallTool;
  /** How the policy is asked, calls and answers; its tools are those of `tools`. */
  readonly dialect: Dialect;
  /** The policy: a safetensors file or a Hugging Face folder, which stay where they are. */
  readonly base: string;
  /** How to grow a group, instead of from segments and calls: episodes of one continued thought. */
  readonly grow?: RolloutOptions['grow'];
  /** Helps rollouts; left out = no help. */
  readonly helping?: RolloutOptions['helping'];
  /** Judges answers and calls; null = LaTeX equality and F1 alone. */
  readonly jury: Jury | null;
}

/** A response is not compared with its group: nothing is trained on it. */
const advantage = grpo();

/**
 * The flow of an evaluation job: adopts the base policy, rolls out every question of the plan, and writes the
 * metrics `eval/*`.
 */
export async function evaluate(
  context: JobContext<EvaluateSettings>,
  parts: EvaluateParts,
): Promise<Flow> {
  const { run, settings, log, folder, clock, seed, own, print, screen, replay } = context;
  const { plan, dialect, jury } = parts;
  const { concurrency, judgedAtOnce } = settings;
  for (const note of dialect.notes ?? []) print(note);
  await writePrompt(folder, promptRecord(dialect));
  const engine = replay?.engine(parts.engine) ?? parts.engine;
  const tools = replay?.tools(parts.tools) ?? parts.tools;

  const store = weightsStore(folder, log);
  const first = await store.adopt(parts.base, 'there');
  const known = { weights$: of(first), resolve: store.resolve };
  const pacing = { batchGroups: 1, window: 1, lagMax: 0, unlimited: replay !== undefined };
  const gate = own(policyGate({ ...known, ...pacing, engine }));

  const rolling = rollout({
    ...settings,
    engine,
    tools,
    dialect,
    gate,
    seed,
    clock,
    report: print,
    grow: parts.grow,
    helping: parts.helping,
    samples: () => settings.rollouts,
    branching: () => null,
  });
  const judged = score({
    reward: sessionReward(
      taskSuccess(judgedBenchmark(jury, (await verifierOf(context)) ?? undefined)),
    ),
    advantage,
    tools,
    formatFault: dialect.formatFault,
    concurrency: judgedAtOnce,
    openMax: concurrency * 2,
  });
  const { questions } = plan;
  const measuring = new Measuring(questions);
  const onScored = (round: number): void => measuring.scored(round);
  const measured = measure({ questions, openMax: 1, clock, also: bySource(seed), onScored });
  const pulse = () => ({
    inflight: gate.inflight,
    version: gate.version,
    generatedTokens: engine.stats().generatedTokens,
    measuring: measuring.now,
  });

  const sampling = describeSampling(settings);
  const shown = { run, rounds: ['the policy'], sampling, print, screen, clock, pulse };

  return flow(
    source('base', topics.weights, [{ value: first }]),
    source('questions', topics.questions, plan.items),
    stage('rollout', topics.questions, topics.rollouts, (questions$) =>
      questions$.pipe(tap(askedIn(measuring)), rolling),
    ),
    stage('score', topics.rollouts, topics.scored, judged),
    stage('measure', topics.scored, topics.metrics, measured, inflightFor(questions)),
    sink('files', topics.metrics, null, metricFiles({ folder, recorded: metricsIn(log) })),
    sink('progress', topics.metrics, null, progress(shown)),
  );
}

/** The table's rows as metrics, `eval/<source>/correctness` and `eval/<source>/efficiency`. */
function bySource(seed: number): (groups: readonly Scored[]) => NamedNumbers {
  return (groups) =>
    Object.fromEntries(
      benchmarkTable(groups, { seed }).rows.flatMap(({ source, correctness, efficiency, path }) => [
        [`eval/${source}/correctness`, correctness],
        [`eval/${source}/efficiency`, efficiency],
        ...(path === null ? [] : [[`eval/${source}/path`, path] as const]),
      ]),
    );
}

/** A file, and the benchmark in it if its name does not say so. */
export interface EvaluatedFile {
  readonly path: string;
  readonly name?: string;
  /** Where to write images that rows contain; null = only name them. */
  readonly images?: string | null | undefined;
}

/**
 * The questions of an evaluation, as `planEvaluation` reads them; unusable rows are dead letters among them.
 */
export interface EvaluationPlan {
  readonly items: readonly SourceItem<Question>[];
  /** Readable questions among them. */
  readonly questions: number;
  /** Their benchmarks, in order. */
  readonly sources: readonly string[];
}

/** Throws code `QUESTIONS_FILE` if a file cannot be used or none has a usable row. */
export async function planEvaluation(
  files: readonly EvaluatedFile[],
  limit: number,
): Promise<EvaluationPlan> {
  const items: SourceItem<Question>[] = [];
  const homes = new Map<string, string>();
  const sources = new Set<string>();
  for (const { path, ...options } of files) {
    let taken = 0;
    for await (const item of readDataset(path, options)) {
      if (taken >= limit) break;
      if ('deadLetter' in item) {
        items.push(item);
        continue;
      }
      taken++;
      const { id, source } = item.value;
      const home = homes.get(id);
      if (home !== undefined) {
        items.push(repeated(path, taken, id, home));
        continue;
      }
      homes.set(id, path);
      sources.add(source);
      items.push({ value: { ...item.value, phase: 'evaluate', round: 0, schedule: null } });
    }
  }
  if (homes.size === 0) throw noQuestions(files, items);
  return { items, questions: homes.size, sources: [...sources] };
}

function repeated(origin: string, place: number, key: string, home: string): SourceItem<never> {
  const reason = `is already used in ${home}`;
  return { deadLetter: { origin, place, key, field: 'id', reason, payload: '' } };
}

function noQuestions(files: readonly EvaluatedFile[], items: readonly SourceItem<Question>[]) {
  const paths = files.map(({ path }) => path).join(', ');
  const [first] = items;
  const why =
    first !== undefined && 'deadLetter' in first
      ? `; first row: ${first.deadLetter.field} ${first.deadLetter.reason}`
      : '; it has no rows';
  return new MillraceError(
    'QUESTIONS_FILE',
    `no usable question in ${paths}${why}. A benchmark is recognised by its file name or given as NAME=FILE; any other file needs the fields question and answer`,
  );
}
