/**
 * `calibrate`: iterative behaviour-calibration RL (ET-Agent §7, §8), in rounds, as one stream.
 *
 *     questions ─► rollout ─► score ─► paretoSample ─► practice (rollout with branching) ─► score ─► batch ─► trainer
 *         ▲ gate                                          ▲ gate                                               │
 *         └───────────────────────────────────────────────┴──────────────────────── weights ◄──────────────────┘
 *
 * A round: direct rollouts of its candidates under the newest policy, Pareto sampling chooses among them, the
 * chosen are rolled out afresh with branching and trained on, step by step, on-policy. Held-out questions are
 * measured before the first round and after each. With `select: 'groups'` the practice is left out: the chosen
 * groups are trained on as they are, a window of candidates a step.
 */
import { pipe } from 'rxjs';
import type { Loss, PolicyEngine, Tokenizer, TrainerEngine } from '../model/engine.ts';
import { grpo } from '../operators/advantages/grpo.ts';
import { batch, batchSelected } from '../operators/batch.ts';
import type { CallTool } from '../operators/callTools.ts';
import { type PolicyGate, policyGate } from '../operators/gate.ts';
import { measure } from '../operators/measure.ts';
import { paretoSample } from '../operators/paretoSample.ts';
import { practice } from '../operators/practice.ts';
import { efficiency } from '../operators/rewards/efficiency.ts';
import type { RewardFunction } from '../operators/rewards/reward.ts';
import { type RolloutOptions, rollout } from '../operators/rollout.ts';
import { score } from '../operators/score.ts';
import { files } from '../sinks/files.ts';
import { type Pulse, progress } from '../sinks/progress.ts';
import { trainer } from '../sinks/trainer.ts';
import { weightsStore } from '../sinks/weights.ts';
import { feedback } from '../streams/feedback.ts';
import { type Flow, flow } from '../streams/flow.ts';
import type { Question } from '../streams/records.ts';
import { sink, source, stage } from '../streams/stage.ts';
import { topics } from '../streams/topics.ts';
import { branchings } from './branchings.ts';
import type { CalibrateSettings } from './calibrateSettings.ts';
import type { JobContext } from './defineJob.ts';
import type { QuestionPlan } from './plan.ts';

/** What the job runs on. */
export interface CalibrateParts {
  readonly plan: QuestionPlan;
  readonly engine: PolicyEngine;
  readonly trainer: TrainerEngine;
  readonly tools: CallTool;
  readonly tokenizer: Tokenizer;
  readonly prompt: (question: string) => Int32Array;
  /** The first policy, a safetensors file. */
  readonly base: string;
}

export async function calibrate(
  context: JobContext<CalibrateSettings>,
  parts: CalibrateParts,
): Promise<Flow> {
  const { settings, log, folder, clock, seed, signal, own } = context;
  const { plan, engine, tools, tokenizer, prompt } = parts;
  const { lagMax, concurrency, batchGroups: groups } = settings;
  const store = weightsStore(folder, log);
  const first = { value: await store.adopt(parts.base) };
  const weights = feedback(topics.weights, { history: 'all' });
  const known = { weights$: weights.values$, resolve: store.resolve };
  const gate = own(policyGate({ ...settings, ...plan, ...known, engine, signal }));

  const policy = { engine, tools, tokenizer, prompt, gate, seed, clock, ...sampling(settings) };
  const rolled = rollout({ ...settings, ...policy });
  const judged = score({
    reward: calibrating(settings),
    advantage: grpo(),
    openMax: concurrency * 2,
  });
  const chosen = paretoSample({ ...settings, ...plan, seed, openMax: lagMax + 1 });
  const afresh = pipe(practice(), rollout({ ...settings, ...policy }));
  const means = { engine: parts.trainer, store, log, clock, loss: clipped(settings) };
  const trained = trainer({ ...settings, ...means });
  const measured = measure({ questions: plan.heldOut, openMax: settings.rounds + 1, clock });
  const shown = progress({ ...settings, ...context, pulse: pulse(gate, engine) });

  const openMax = lagMax + 2;
  const room = (records: number) => ({ inflightMax: records + 64 });
  const practised = [
    stage('practice', topics.selected, topics.rollouts, afresh),
    stage(
      'batch',
      topics.scored,
      topics.batches,
      batch({ groups, openMax }),
      room(groups * openMax),
    ),
  ];
  const asTheyAre = [
    stage(
      'batch',
      topics.selected,
      topics.batches,
      batchSelected({ window: plan.window, openMax }),
    ),
  ];

  return flow(
    source('base', topics.weights, [first]),
    source('questions', topics.questions, plan.items),
    stage('rollout', topics.questions, topics.rollouts, rolled),
    stage('score', topics.rollouts, topics.scored, judged),
    stage('pareto', topics.scored, topics.selected, chosen, room(2 * plan.explore)),
    ...(settings.select === 'questions' ? practised : asTheyAre),
    sink('trainer', topics.batches, weights, trained, { inflightMax: lagMax + 1 }),
    stage('measure', topics.scored, topics.metrics, measured, room(2 * plan.heldOut)),
    sink('files', topics.metrics, null, files({ folder })),
    sink('progress', topics.metrics, null, shown),
  );
}

/** How many rollouts a question gets, and whether they branch: those that are trained on do. */
function sampling(settings: CalibrateSettings): Pick<RolloutOptions, 'samples' | 'branching'> {
  const { rollouts, evaluationRollouts } = settings;
  const branching = branchings[settings.branching](settings);
  return {
    samples: ({ phase }) => (phase === 'evaluate' ? evaluationRollouts : rollouts),
    branching: ({ schedule }) => (schedule === null ? null : branching),
  };
}

/** The efficiency reward, its strength falling from round to round; evaluations count accuracy and format alone. */
function calibrating({ sigmas, lengthWeight }: CalibrateSettings): RewardFunction {
  const sigma = ({ stage, phase }: Question): number =>
    phase === 'evaluate' ? 0 : (sigmas[stage - 1] ?? sigmas.at(-1) ?? 0);
  return efficiency({
    sigmaTool: sigma,
    sigmaLength: (question) => sigma(question) * lengthWeight,
  });
}

function clipped({ clipLow, clipHigh, clipC }: CalibrateSettings): Loss {
  return { kind: 'policy', clipLow, clipHigh, clipC, aggregation: 'token-mean' };
}

function pulse(gate: PolicyGate, engine: PolicyEngine): () => Pulse {
  return () => ({
    inflight: gate.inflight,
    version: gate.version,
    generatedTokens: engine.stats().generatedTokens,
  });
}
