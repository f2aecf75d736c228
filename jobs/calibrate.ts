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
import { advantageEstimators } from '../model/credit/estimators.ts';
import { batch, batchSelected } from '../operators/batch.ts';
import { paretoSample } from '../operators/paretoSample.ts';
import { practice } from '../operators/practice.ts';
import { stepsOpen, windowsOpen } from '../operators/schedule.ts';
import { feedback } from '../streams/feedback.ts';
import { type Flow, flow } from '../streams/flow.ts';
import { stage } from '../streams/stage.ts';
import { topics } from '../streams/topics.ts';
import { branchings } from './branchings.ts';
import type { CalibrateSettings } from './calibrateSettings.ts';
import { policyTraining } from './lossSettings.ts';
import type { QuestionPlan } from './plan.ts';
import { type Method, type PolicyLoop, room } from './policyLoop.ts';
import { rewards } from './rewards.ts';

export function calibrate(loop: PolicyLoop, plan: QuestionPlan, settings: CalibrateSettings): Flow {
  const { seed } = loop.context;
  const { lagMax, batchGroups: groups } = settings;
  const pareto = paretoSample({ ...settings, ...plan, seed, openMax: windowsOpen(lagMax) });
  const rollOutAfresh = pipe(practice(), loop.rollout);
  const openMax = stepsOpen(lagMax);
  // Steps are written in their order: who makes them sees those that are there.
  const steps = feedback(topics.batches);
  const scheduled$ = steps.values$;
  const batchScored = batch({ groups, openMax, scheduled$ });
  const batchChosen = batchSelected({ window: plan.window, openMax, scheduled$ });

  return flow(
    loop.begun,
    loop.rolled,
    loop.scored,
    steps,
    stage('pareto', topics.scored, topics.selected, pareto, room(2 * plan.explore)),
    ...(settings.select === 'questions'
      ? [
          stage('practice', topics.selected, topics.rollouts, rollOutAfresh),
          stage('batch', topics.scored, topics.batches, batchScored, room(groups * openMax)),
        ]
      : [stage('batch', topics.selected, topics.batches, batchChosen)]),
    loop.trained,
    loop.watched,
  );
}

/** What calibration makes of the loop: groups of rollouts that branch where they are trained on. */
export function calibration(settings: CalibrateSettings, plan: QuestionPlan): Method {
  const { rollouts, evaluationRollouts, batchGroups, lr, miniBatches, attribution } = settings;
  const branching = branchings[settings.branching](settings);
  return {
    samples: ({ phase }) => (phase === 'evaluate' ? evaluationRollouts : rollouts),
    branching: ({ schedule }) => (schedule === null ? null : branching),
    reward: rewards[settings.reward](settings, plan),
    advantage: advantageEstimators[settings.advantage].group,
    training: { lr, miniBatches, attribution, ...policyTraining(settings) },
    batchGroups,
    window: plan.window,
  };
}
