/**
 * `calibrate`: iterative behaviour-calibration RL (ET-Agent §7, §8), in rounds, as one stream.
 *
 *     questions ─► rollout ─► score ─► paretoSample ─► practice (rollout with branching) ─► score ─► batch ─► trainer
 *         ▲ gate                                          ▲ gate                                               │
 *         └───────────────────────────────────────────────┴──────────────────────── weights ◄──────────────────┘
 *
 * A round: direct rollouts of its candidates under the newest policy, Pareto sampling chooses among them, the
 * chosen are rolled out afresh with branching and trained on, step by step, on-policy. Held-out questions are
 * measured before the first round and after each.
 */
import { pipe } from 'rxjs';
import type { Loss, PolicyEngine, Tokenizer, TrainerEngine } from '../model/engine.ts';
import { grpo } from '../operators/advantages/grpo.ts';
import { batch } from '../operators/batch.ts';
import type { CallTool } from '../operators/callTools.ts';
import { type PolicyGate, policyGate } from '../operators/gate.ts';
import { measure } from '../operators/measure.ts';
import { paretoSample } from '../operators/paretoSample.ts';
import { practice } from '../operators/practice.ts';
import { efficiency } from '../operators/rewards/efficiency.ts';
import type { RewardFunction } from '../operators/rewards/reward.ts';
import { rollout } from '../operators/rollout.ts';
import { arpo } from '../operators/sampling/arpo.ts';
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
  const store = weightsStore(folder, log);
  const first = { value: await store.adopt(parts.base) };
  const weights = feedback(topics.weights, { history: 'all' });
  const manifests = { weights$: weights.values$, resolve: store.resolve };
  const gate = own(policyGate({ ...settings, ...manifests, engine, signal }));

  const policy = { engine, tools, tokenizer, prompt, gate, seed, clock };
  const direct = rollout({ ...settings, ...policy, samples: samples(settings) });
  const afresh = rollout({
    ...settings,
    ...policy,
    samples: samples(settings),
    branching: arpo(settings),
  });
  const judged = score({
    reward: calibrating(settings),
    advantage: grpo(),
    openMax: settings.concurrency * 2,
  });
  const chosen = paretoSample({ ...settings, window: plan.explore, seed });
  const scheduled = batch({ groups: settings.batchGroups, openMax: settings.lagMax + 2 });
  const trained = trainer({
    ...settings,
    engine: parts.trainer,
    store,
    log,
    loss: clipped(settings),
    clock,
  });
  const measured = measure({ questions: plan.heldOut, openMax: settings.rounds + 1, clock });
  const shown = progress({ ...settings, ...context, pulse: pulse(gate, engine) });

  return flow(
    source('base', topics.weights, [first]),
    source('questions', topics.questions, plan.items),
    stage('rollout', topics.questions, topics.rollouts, direct),
    stage('score', topics.rollouts, topics.scored, judged),
    stage('pareto', topics.scored, topics.selected, chosen, { inflightMax: 2 * plan.explore + 64 }),
    stage('practice', topics.selected, topics.rollouts, pipe(practice(), afresh)),
    stage('batch', topics.scored, topics.batches, scheduled, {
      inflightMax: settings.batchGroups * (settings.lagMax + 2) + 64,
    }),
    sink('trainer', topics.batches, weights, trained, { inflightMax: settings.lagMax + 1 }),
    stage('measure', topics.scored, topics.metrics, measured, {
      inflightMax: 2 * plan.heldOut + 64,
    }),
    sink('files', topics.metrics, null, files({ folder })),
    sink('progress', topics.metrics, null, shown),
  );
}

/** How many rollouts a question gets. */
function samples({
  rollouts,
  evaluationRollouts,
}: CalibrateSettings): (question: Question) => number {
  return ({ phase }) => (phase === 'evaluate' ? evaluationRollouts : rollouts);
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
