/**
 * The work of the simulation through the real stream: the loop that every training job turns in (rollout
 * operator, gate, score, batch, trainer sink, weights) over the real embedded log, with a simulated engine,
 * tools and optimiser step.
 */
import { mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lastValueFrom, toArray } from 'rxjs';
import { calibrate } from '../../jobs/calibrate/calibrate.ts';
import { calibrateSettings } from '../../jobs/calibrate/settings.ts';
import { loopOptions } from '../../jobs/method.ts';
import type { QuestionPlan } from '../../jobs/plan.ts';
import { inflightFor, policyLoop } from '../../jobs/policyLoop.ts';
import type { PolicyEngine } from '../../model/engine.ts';
import { batch } from '../../operators/batch.ts';
import type { CallTool } from '../../operators/callTools.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { flow } from '../../streams/flow.ts';
import type { Log } from '../../streams/log.ts';
import { runFlow } from '../../streams/run/runFlow.ts';
import { stage } from '../../streams/stage.ts';
import type { Topic } from '../../streams/topic.ts';
import { fakeTrainer } from '../../test/support/fakeTrainer.ts';
import { tinyDialect, tinyWords } from '../../test/support/tinyWords.ts';
import { fakeTools } from '../../testing/fakeTools.ts';
import { type ScriptLine, scriptedPolicy } from '../../testing/scriptedPolicy.ts';
import {
  type Batch,
  type Question,
  type Rollout,
  type Scored,
  stepsOpen,
  type ToolCall,
  topics,
  type Weights,
} from '../../topics/index.ts';
import { withCommit } from '../withCommit.ts';
import { latencyMs, type Rows, rowsOf, type Simulation } from './simulation.ts';
import { type SkippingClock, skippingClock } from './skippingClock.ts';

export interface StreamRun {
  /** From the first question to the last manifest. */
  readonly ms: number;
  /** Of these, what ran on this machine: our own code and the log. The rest is simulated. */
  readonly realMs: number;
  /** Busy rows, all rows together. */
  readonly busyMs: number;
  readonly rollouts: readonly Rollout[];
  readonly toolCalls: readonly ToolCall[];
  readonly scored: readonly Scored[];
  readonly batches: readonly Batch[];
  readonly weights: readonly Weights[];
  /** Versions that a group's oldest span was behind its step, at most and on average. */
  readonly lag: { readonly max: number; readonly mean: number };
}

/** Some tokens, then a call or an answer. */
function script(simulation: Simulation): (line: ScriptLine) => string {
  const { tokensMin, tokensMax, callChance } = simulation;
  return ({ draws }) => {
    const tokens = tokensMin + draws.integer(0, tokensMax - tokensMin);
    const calls = draws.uniform(1) < callChance;
    const words = 'one'.repeat(Math.max(0, tokens - 6));
    return calls
      ? `${words}<search>two</search>`
      : `${words}<answer>${draws.uniform(2) < 0.5 ? '7' : '8'}</answer><|end|>`;
  };
}

function simulatedEngine(simulation: Simulation, rows: Rows): PolicyEngine {
  let atVersion = -1;
  const scripted = scriptedPolicy({
    tokenizer: tinyWords,
    script: script(simulation),
    contextMax: 1 << 20,
    topLogProbs: ({ draws }) => [Math.log(0.5 + 0.4 * draws.uniform(3)), Math.log(0.1)],
  });
  return {
    ...scripted,
    async generate(request, signal) {
      const version = atVersion;
      const made = await scripted.generate(request, signal);
      await rows.decode(made.tokens.length, request.priority);
      return { ...made, version: simulation.swap === 'live' ? version : atVersion };
    },
    async load(weights) {
      const swap = (): void => {
        atVersion = weights.version;
      };
      if (simulation.swap === 'live') swap();
      else await rows.drained(swap);
      await scripted.load(weights);
    },
  };
}

function simulatedTools(simulation: Simulation, clock: SkippingClock): CallTool {
  const tools = fakeTools({ answers: { search: (query) => query } });
  return {
    ...tools,
    async call(tool, input, signal, origin) {
      const ms = latencyMs(simulation, origin!.rolloutId, origin!.turn);
      await clock.sleep(ms);
      return { ...(await tools.call(tool, input, signal)), ms };
    },
  };
}

function planOf({ steps, groups }: Simulation): QuestionPlan {
  const of = steps * groups;
  const question = (index: number): Question => ({
    id: `q${index}`,
    question: 'What is 7?',
    answers: ['7'],
    source: 'bench',
    ability: 'math',
    phase: 'practice',
    round: 1,
    schedule: { index, of, version: 0 },
  });
  return {
    rounds: ['the base policy', 'round 1'],
    items: Array.from({ length: of }, (_, index) => ({ value: question(index) })),
    endless: false,
    sizes: [0, of],
    heldOut: 1,
    train: of,
  };
}

/** Runs it in `folder`, which must be new. */
export async function throughStream(
  simulation: Simulation,
  lagMax: number,
  folder: string,
): Promise<StreamRun> {
  mkdirSync(folder);
  const base = join(folder, 'base.safetensors');
  await writeFile(base, 'base weights');
  const clock = skippingClock();
  const realMs = process.cpuUsage();
  const startMs = clock.now();
  const log = await openLog({ folder: join(folder, 'log'), mode: 'write', clock });
  try {
    const rows = rowsOf(simulation.rows, simulation.tokenMs, clock);
    await runLoop(simulation, lagMax, folder, base, rows, clock, log);
    const ms = clock.now() - startMs;
    const { user, system } = process.cpuUsage(realMs);
    return {
      ms,
      realMs: (user + system) / 1000,
      busyMs: rows.busyMs,
      ...(await recordsOf(log)),
    };
  } finally {
    clock.close();
    await log.close();
  }
}

async function runLoop(
  simulation: Simulation,
  lagMax: number,
  folder: string,
  base: string,
  rows: Rows,
  clock: SkippingClock,
  log: Log,
): Promise<void> {
  const { seed, groups, rollouts, callLimit, stepMs, branching } = simulation;
  const settings = calibrateSettings.parse({
    lagMax,
    rollouts,
    callLimit,
    branching,
    batchGroups: groups,
    keepVersions: 2,
    initialRollouts: Math.max(1, rollouts / 2),
    miniBatches: 1,
    reward: 'accuracy',
    responseMax: 1 << 16,
    concurrency: groups * (lagMax + 1),
  });
  // What the flow looks at now and then it looks at in real time: it costs what it costs.
  const time = { now: () => clock.now() };
  const timed = withCommit(log, (write) => clock.during(log.commit(write)));
  const plan = planOf(simulation);
  const owned: { close(): Promise<void> }[] = [];
  const context = {
    run: 'bench',
    folder,
    seed,
    settings,
    log: timed,
    clock: time,
    print: () => undefined,
    own: <T extends { close(): Promise<void> }>(resource: T): T => {
      owned.push(resource);
      return resource;
    },
  };
  const parts = {
    base,
    engine: simulatedEngine(simulation, rows),
    trainer: fakeTrainer({
      before: async (call) => {
        if (call === 'step') await clock.sleep(stepMs);
      },
    }),
    tools: simulatedTools(simulation, clock),
    dialect: tinyDialect(['search']),
  };
  const { loop: share } = calibrate(settings)({ train: plan.train, before: [], seed });
  const loop = await policyLoop(context, parts, plan, loopOptions([share]));
  const openMax = stepsOpen(lagMax);
  const scheduled = batch({ groups, openMax });
  const { begun, scored, trained } = loop;
  const rolled = stage('rollout', topics.questions, topics.rollouts, loop.rollout);
  const batched = stage(
    'batch',
    topics.scored,
    topics.batches,
    scheduled,
    inflightFor(groups * openMax),
  );
  await runFlow(flow(begun, rolled, scored, batched, trained), { log: timed, clock: time });
  for (const resource of owned.reverse()) await resource.close();
}

type Records = Omit<StreamRun, 'ms' | 'realMs' | 'busyMs'>;

async function recordsOf(log: Log): Promise<Records> {
  const all = async <T>(topic: Topic<T>): Promise<readonly T[]> => {
    const stored$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
    return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value);
  };
  const [scored, batches] = [await all(topics.scored), await all(topics.batches)];
  const lags = batches.flatMap(({ version, groups }) =>
    groups.map((group) => version - scored[group.scored.offset]!.version),
  );
  return {
    scored,
    batches,
    weights: await all(topics.weights),
    rollouts: await all(topics.rollouts),
    toolCalls: await all(topics.toolCalls),
    lag: { max: Math.max(...lags), mean: lags.reduce((a, b) => a + b, 0) / lags.length },
  };
}
