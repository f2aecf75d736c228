/**
 * `calibrate`: iterative behaviour-calibration RL (ET-Agent §7, §8), in rounds, as one stream.
 *
 *     questions ─► rollout ─► score ─► paretoSample ─► practice (rollout with branching) ─► score ─► batch ─► trainer
 *         ▲ gate                                          ▲ gate                                               │
 *         └───────────────────────────────────────────────┴──────────────────────── weights ◄──────────────────┘
 *
 * A round: direct rollouts of its candidates under the newest policy, Pareto sampling chooses among them, the
 * chosen are rolled out again, with branching, and trained on, step by step, on-policy. Held-out
 * questions are measured before the first round and after each. With `select: 'groups'` the practice is left
 * out: the chosen groups are trained on as they are, one window of candidates per step.
 */
import { pipe } from 'rxjs';
import { MillraceError } from '../../base/index.ts';
import { type AdvantageEstimator, advantageEstimators } from '../../model/credit/index.ts';
import { batch, batchSelected, practice } from '../../operators/index.ts';
import { aepo, arpo } from '../../operators/sampling/index.ts';
import { type Flow, feedback, flow, stage } from '../../streams/index.ts';
import { stepsOpen, topics, windowsOpen } from '../../topics/index.ts';
import { policyTraining } from '../lossSettings.ts';
import type { LoopShare, Method, MethodPlace } from '../method.ts';
import { inflightFor, type LoopOptions, type PolicyLoop } from '../policyLoop.ts';
import { policyRate } from './rates.ts';
import { rewardOf } from './rewards.ts';
import { type RoundSizes, rounds, sizesOf, unmet } from './rounds.ts';
import { selection } from './selection.ts';
import type { CalibrateSettings } from './settings.ts';

/** The method; `own` replaces settings: another reward, branching or advantage. */
export function calibrate(settings: CalibrateSettings, own: Partial<LoopOptions> = {}): Method {
  if (settings.select === 'groups' && settings.epochs > 1) {
    throw new MillraceError(
      'USAGE',
      'epochs above 1 needs select=questions: with select=groups nothing is rolled out again',
    );
  }
  return (place) => {
    const sizes = sizesOf(settings, place.train);
    return {
      rounds: rounds(settings, sizes, place),
      loop: { ...loopOf(settings, sizes, place), ...own },
      wire: (loop) => wire(loop, settings, sizes, place),
    };
  };
}

function wire(
  loop: PolicyLoop,
  settings: CalibrateSettings,
  sizes: RoundSizes,
  { live }: MethodPlace,
): Flow {
  const { lagMax, batchGroups: groups } = settings;
  const { explore, window } = sizes;
  for (const line of unmet(settings, sizes)) loop.context.print(line);
  const [openMax, windowsMax] = [stepsOpen(lagMax), windowsOpen(lagMax)];
  // Steps are written in order: the stage that makes them sees those already written.
  const steps = feedback(topics.batches);
  const scheduled$ = steps.values$;
  const windows = feedback(topics.windows, { history: 'all' });
  const candidates = inflightFor(Math.max(2 * explore, windowsMax * window));
  const selecting = selection(loop, settings, sizes, { steps, windows, live, openMax: windowsMax });
  const practising = pipe(practice(), loop.rollout);
  const batchScored = batch({ groups, openMax, scheduled$ });
  const batchChosen = batchSelected({ window, openMax, scheduled$ });

  return flow(
    loop.begun,
    loop.rolled,
    loop.scored,
    steps,
    windows,
    stage('pareto', topics.scored, topics.selected, selecting, candidates),
    ...(settings.select === 'questions'
      ? [
          stage('practice', topics.selected, topics.rollouts, practising),
          stage('batch', topics.scored, topics.batches, batchScored, inflightFor(groups * openMax)),
        ]
      : [stage('batch', topics.selected, topics.batches, batchChosen)]),
    loop.trained,
    loop.watched,
  );
}

const branchings = { arpo, aepo, none: () => null };

/** Grows groups whose rollouts branch if they are trained on. */
function loopOf(
  settings: CalibrateSettings,
  { window }: RoundSizes,
  place: MethodPlace,
): LoopShare {
  const { rollouts, evaluationRollouts, batchGroups, miniBatches, attribution } = settings;
  const explored = settings.exploreRollouts || rollouts;
  const branching = branchings[settings.branching](settings);
  const estimator: AdvantageEstimator = advantageEstimators[settings.advantage];
  return {
    samples: ({ phase, schedule }) => {
      if (phase === 'evaluate') return evaluationRollouts;
      return phase === 'explore' && schedule === null ? explored : rollouts;
    },
    branching: ({ schedule }) => (schedule === null ? null : branching),
    reward: rewardOf(settings, window, place),
    answers: settings.answers,
    advantage: estimator.group,
    actionAdvantage: estimator.actions,
    training: { miniBatches, attribution, ...policyTraining(settings) },
    rates: { policy: policyRate(settings, place.live) },
    batchGroups,
    window,
  };
}
