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
  const { settings, log, folder, clock, seed, signal } = context;
  const { plan, engine, tools, tokenizer, prompt } = parts;
  const { rounds, batchGroups, lagMax } = settings;
  const store = weightsStore(folder, log);
  const weights = feedback(topics.weights, { history: 'all' });
  const gate = context.own(
    policyGate({ engine, weights$: weights.values$, resolve: store.resolve, batchGroups, lagMax, signal }),
  );
  const policy = { ...settings, samples: samples(settings), engine, tokenizer, prompt, tools, gate, seed, clock };
  const reward = calibratingReward(settings);
  const openMax = settings.concurrency * 2;
  const held = plan.heldOut;

  return flow(
    source('base', topics.weights, [{ value: await store.adopt(parts.base) }]),
    source('questions', topics.questions, plan.items),
    stage('rollout', topics.questions, topics.rollouts, rollout(policy)),
    stage('score', topics.rollouts, topics.scored, score({ reward, advantage: grpo(), openMax })),
    stage('pareto', topics.scored, topics.selected, paretoSample({ ...settings, window: plan.explore, seed })),
    stage('practice', topics.selected, topics.rollouts, pipe(practice(), rollout({ ...policy, branching: arpo(settings) }))),
    stage('batch', topics.scored, topics.batches, batch({ groups: batchGroups, openMax: lagMax + 2 })),
    sink('trainer', topics.batches, weights, trainer({ ...settings, engine: parts.trainer, store, log, loss: clipped(settings), clock })),
    stage('measure', topics.scored, topics.metrics, measure({ questions: held, openMax: rounds + 1, clock })),
    sink('files', topics.metrics, null, files({ folder })),
    sink('progress', topics.metrics, null, progress({ rounds, pulse: pulse(gate, engine), ...context })),
  );
}

/** How many rollouts a question gets. */
function samples({ rollouts, evaluationRollouts }: CalibrateSettings): (question: Question) => number {
  return ({ phase }) => (phase === 'evaluate' ? evaluationRollouts : rollouts);
}

/** The efficiency reward, its strength falling from round to round; evaluations count accuracy and format alone. */
function calibratingReward({ sigmas, lengthWeight }: CalibrateSettings): RewardFunction {
  const sigma = ({ stage, phase }: Question): number =>
    phase === 'evaluate' ? 0 : (sigmas[stage - 1] ?? sigmas.at(-1) ?? 0);
  return efficiency({ sigmaTool: sigma, sigmaLength: (question) => sigma(question) * lengthWeight });
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
