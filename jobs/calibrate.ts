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
import type { PolicyEngine, Tokenizer, TrainerEngine } from '../model/engine.ts';
import { grpo } from '../operators/advantages/grpo.ts';
import { batch } from '../operators/batch.ts';
import type { CallTool } from '../operators/callTools.ts';
import { policyGate } from '../operators/gate.ts';
import { measure } from '../operators/measure.ts';
import { paretoSample } from '../operators/paretoSample.ts';
import { practice } from '../operators/practice.ts';
import { efficiency } from '../operators/rewards/efficiency.ts';
import { rollout } from '../operators/rollout.ts';
import { arpo } from '../operators/sampling/arpo.ts';
import { score } from '../operators/score.ts';
import { files } from '../sinks/files.ts';
import { progress } from '../sinks/progress.ts';
import { trainer } from '../sinks/trainer.ts';
import { weightsStore } from '../sinks/weights.ts';
import type { QuestionPlan } from '../sources/plan.ts';
import { feedback } from '../streams/feedback.ts';
import { type Flow, flow, sink, source, stage } from '../streams/flow.ts';
import type { Question } from '../streams/records.ts';
import { topics } from '../streams/topics.ts';
import type { CalibrateSettings } from './calibrateSettings.ts';
import type { JobContext } from './defineJob.ts';

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
  const store = weightsStore(folder);
  const weights = feedback(topics.weights);
  const gate = context.own(policyGate({ engine, weights$: weights.values$, resolve: store.resolve, ...settings }));
  const policy = { engine, tokenizer, prompt, tools, gate, seed, clock, signal, ...settings };
  const samples = ({ phase }: Question): number =>
    phase === 'evaluate' ? settings.evaluationRollouts : settings.rollouts;
  const sigma = ({ stage, phase }: Question): number =>
    phase === 'evaluate' ? 0 : (settings.sigmas[stage - 1] ?? settings.sigmas.at(-1) ?? 0);
  const reward = efficiency({ sigmaTool: sigma, sigmaLength: (q) => sigma(q) * settings.lengthWeight });

  return flow(
    source('base', topics.weights, [{ value: await store.adopt(parts.base) }]),
    source('questions', topics.questions, plan.items),
    stage('rollout', topics.questions, topics.rollouts, rollout({ ...policy, rollouts: samples })),
    stage('score', topics.rollouts, topics.scored, score({ reward: () => reward, advantage: grpo(), ...settings })),
    stage('pareto', topics.scored, topics.selected, paretoSample({ keep: settings.keep, window: plan.explore, seed })),
    stage('practice', topics.selected, topics.rollouts, pipe(practice(), rollout({ ...policy, rollouts: samples, branching: arpo(settings) }))),
    stage('batch', topics.scored, topics.batches, batch({ groups: settings.batchGroups, openMax: settings.lagMax + 2 })),
    sink('trainer', topics.batches, weights, trainer({ engine: parts.trainer, store, folder, log, clock, manifest: weights.at, ...settings })),
    stage('measure', topics.scored, topics.metrics, measure({ questions: plan.heldOut, openMax: settings.rounds + 1, clock })),
    sink('files', topics.metrics, null, files({ folder })),
    sink('progress', topics.metrics, null, progress({ steps: plan.steps, rounds: settings.rounds, pulse, ...context })),
  );
}
