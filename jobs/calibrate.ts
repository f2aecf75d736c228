/**
 * `calibrate`: iterative behaviour-calibration RL (ET-Agent §7, §8), in rounds, as one stream.
 *
 *     questions ─► rollout ─► score ─► paretoSample ─► practice (rollout with branching) ─► score ─► batch ─► trainer
 *         ▲ gate                                          ▲ gate                                               │
 *         └───────────────────────────────────────────────┴──────────────────────── weights ◄──────────────────┘
 *
 * A round: direct rollouts of its candidates under the newest policy, Pareto sampling chooses among them, the
 * chosen are rolled out once more, with branching, and trained on, step by step, on-policy. Held-out
 * questions are measured before the first round and after each. With `select: 'groups'` the practice is left
 * out: the chosen groups are trained on as they are, a window of candidates a step.
 */
import { first, firstValueFrom, pipe } from 'rxjs';
import { z } from 'zod';
import { MillraceError, raceAbort } from '../base/index.ts';
import { type AdvantageEstimator, advantageEstimators } from '../model/credit/index.ts';
import { byStep } from '../operators/batching/index.ts';
import { batch, batchSelected, paretoSample, practice } from '../operators/index.ts';
import {
  accuracy,
  deepResearch,
  efficiency,
  hierarchical,
  type RewardFunction,
  sigmaFactor,
} from '../operators/rewards/index.ts';
import { aepo, arpo, type RunningFront } from '../operators/sampling/index.ts';
import { type Feedback, feedback, flow, recordsOf, stage } from '../streams/index.ts';
import {
  AFTER_LAST_ROUND,
  type Batch,
  placesEach,
  type Question,
  type Selected,
  type StepSizes,
  stepAt,
  stepsOf,
  stepsOpen,
  topics,
  versionOf,
  type Window,
  windowsOpen,
} from '../topics/index.ts';
import { type Idle, mayChange } from './live.ts';
import { lossSettings, policyTraining } from './lossSettings.ts';
import type { LoopShare, Method, MethodPlace } from './method.ts';
import type { RoundPlan } from './plan.ts';
import { inflightFor, type LoopOptions, type PolicyLoop } from './policyLoop.ts';
import { policySettings, positiveInt, roundsSetting } from './policySettings.ts';
import { windowLengthMs, windowSetting } from './windowSetting.ts';

/** Numbers by optimiser step, in rising order of the steps. */
const pointsSetting = z
  .array(z.tuple([z.number().int().nonnegative(), z.number().nonnegative()]))
  .refine((points) => points.every(([at], i) => i === 0 || at > points[i - 1]![0]), {
    error: 'expected increasing steps, such as [[0, 0.6], [500, 0.2]]',
  })
  .default([]);

/** Why `keep` changes nothing: where a window is a part of a round, `keep` and `explore` say how large. */
const keepIdle: Idle = ({ select, window }) =>
  select === 'groups' && window === 'count'
    ? 'with select=groups it sizes the windows, which are fixed when the run starts; start another run with it'
    : null;

/** Why the strength of the efficiency reward changes nothing. */
const sigmaIdle: Idle = ({ reward }) =>
  reward === 'efficiency'
    ? null
    : `it applies to reward=efficiency, but the run has reward=${reward}`;

const byStepInstead =
  (name: 'sigmaSteps' | 'lrSteps'): Idle =>
  (settings) =>
    ((settings[name] ?? []) as readonly unknown[]).length === 0
      ? null
      : `${name} sets it by step; change that, or also set ${name}=[]`;

/** Why `lr` changes nothing. */
export const lrIdle: Idle = byStepInstead('lrSteps');

/** With what the quickstart takes as defaults. */
export const calibrateSettings = policySettings.extend({
  ...lossSettings.shape,
  rounds: roundsSetting
    .default(3)
    .describe('rounds of explore, select, practise; forever = until stopped'),
  select: z
    .enum(['questions', 'groups'])
    .default('questions')
    .describe(
      'what to train on: fresh rollouts of the selected questions, or the selected groups themselves',
    ),
  sampler: z
    .enum(['pareto', 'front', 'random'])
    .default('pareto')
    .describe(
      'how candidates are selected: by the Pareto fronts of the window, by those of the window plus earlier groups (a running front), or at random (to measure what Pareto sampling adds)',
    ),
  frontMemory: positiveInt
    .default(512)
    .describe('with sampler=front: groups of earlier windows to compare candidates with'),
  explore: positiveInt.default(256).describe('candidate questions per round'),
  window: windowSetting,
  keep: mayChange(
    positiveInt.default(192).describe('questions that Pareto sampling keeps per round'),
    keepIdle,
  ),
  epochs: positiveInt
    .default(1)
    .describe('times each kept question is rolled out again and trained on in its round'),
  mixedOnly: z
    .boolean()
    .default(true)
    .describe('keep only questions with both right and wrong answers'),
  evaluateEvery: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe(
      'optimiser steps between evaluations, rounded up to the end of a round (a round counts as if it kept as many as it may); 0 = after every round',
    ),
  evaluationRollouts: positiveInt.default(2).describe('rollouts per held-out question'),
  rollouts: positiveInt.default(8).describe('rollouts per question (n)'),
  exploreRollouts: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('rollouts per candidate, if selected questions are rolled out again; 0 = n'),
  branching: z
    .enum(['arpo', 'aepo', 'none'])
    .default('arpo')
    .describe(
      'method that decides where to branch after a tool result; none = independent rollouts',
    ),
  dynamicBudget: z
    .boolean()
    .default(true)
    .describe('aepo: let a monitored rollout of each question decide its N'),
  initialRollouts: positiveInt
    .default(4)
    .describe(
      'of these, independent roots before any branching (N); aepo: only with a fixed budget',
    ),
  beamSize: positiveInt.default(2).describe('clones tried per branch and round, plus one (Z)'),
  branchProbability: z.number().min(0).max(1).default(0.5),
  entropyWeight: z.number().default(0.2),
  entropyAt: z
    .enum(['call', 'result'])
    .default('call')
    .describe(
      'where ARPO and AEPO measure entropy: in the segment with the call (as released), or after the result',
    ),
  penaltyScope: z
    .enum(['group', 'path'])
    .default('group')
    .describe(
      'aepo: whose consecutive branchings make the next one less likely, the group’s or the path’s',
    ),
  attribution: z
    .enum(['soft', 'hard'])
    .default('soft')
    .describe(
      'advantage of shared prefixes: each rollout’s own (soft), or the mean of those sharing them (hard)',
    ),
  batchGroups: positiveInt.default(12).describe('groups per optimiser step (B)'),
  miniBatches: positiveInt.default(2).describe('optimiser steps per batch'),
  reward: z
    .enum(['efficiency', 'accuracy', 'deep-research', 'hierarchical'])
    .default('efficiency')
    .describe('reward of a rollout: ET-Agent’s, correctness only, ARPO’s or Tool-Star’s'),
  mode: z
    .enum(['reference', 'paper'])
    .default('reference')
    .describe('Pareto sampling and efficiency reward as in the released code, or as in the paper'),
  answers: z
    .enum(['own', 'whole'])
    .default('own')
    .describe(
      'where answers and format are read: only in what the policy wrote, or also in tool results, as released (docs/security.md)',
    ),
  sigmas: mayChange(
    z
      .array(z.number().nonnegative())
      .min(1)
      .default([0.6, 0.4, 0.2])
      .describe(
        'strength of the efficiency reward by round; the last value holds for all later rounds',
      ),
    (settings) => sigmaIdle(settings) ?? byStepInstead('sigmaSteps')(settings),
  ),
  sigmaDecay: z
    .boolean()
    .default(false)
    .describe('also reduce it within each round, step by step to 0, as the released trainer does'),
  lengthWeight: mayChange(
    z.number().nonnegative().default(0.2).describe('sigma of the length, as a fraction of sigma'),
    sigmaIdle,
  ),
  sigmaSteps: mayChange(
    pointsSetting.describe(
      'sigma by optimiser step instead: [[step, sigma], …], interpolated linearly; [] = by round',
    ),
    sigmaIdle,
  ),
  lr: mayChange(z.number().positive().default(6e-5), lrIdle),
  lrSteps: mayChange(
    pointsSetting.describe(
      'learning rate by optimiser step instead: [[step, lr], …], interpolated linearly; [] = lr',
    ),
  ),
});

/** The settings of `calibrate`, with all defaults filled in. */
export type CalibrateSettings = z.infer<typeof calibrateSettings>;

/** The method; `own` replaces what the settings say: another reward, branching or advantage. */
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
) {
  const { lagMax, batchGroups: groups } = settings;
  const { explore, window } = sizes;
  // Steps are written in order: the stage that makes them sees those that are already there.
  const steps = feedback(topics.batches);
  const scheduled$ = steps.values$;
  const openMax = stepsOpen(lagMax);
  const { seed, print } = loop.context;
  for (const line of unmet(settings, sizes)) print(line);
  const { lengthMs } = sizes;
  const changing =
    live === undefined || keepIdle(settings) !== null
      ? {}
      : {
          keep: (question: Question) => changed(sizes, live.of(question)).keep,
          ready: live.ready.bind(live),
        };
  const openWindows = windowsOpen(lagMax);
  const candidates = inflightFor(Math.max(2 * explore, openWindows * window));
  const cuts = feedback(topics.windows, { history: 'all' });
  const pareto = paretoSample({
    ...settings,
    ...sizes,
    ...changing,
    ...(lengthMs === null ? {} : { sizeOf: sizeOf(cuts) }),
    ...(settings.sampler === 'front'
      ? { earlier: runningFront(loop, settings, sizes, steps) }
      : {}),
    seed,
    openMax: openWindows,
  });
  const practising = pipe(practice(), loop.rollout);
  const batchScored = batch({ groups, openMax, scheduled$ });
  const batchChosen = batchSelected({ window, openMax, scheduled$ });

  return flow(
    loop.begun,
    loop.rolled,
    loop.scored,
    steps,
    cuts,
    stage('pareto', topics.scored, topics.selected, pareto, candidates),
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

/** Candidates that the window of a question took, once it is cut. */
function sizeOf({ values$ }: Feedback<Window>) {
  return async ({ round }: Question, until: AbortSignal): Promise<number> => {
    const cut$ = values$.pipe(first((window) => window.round === round));
    return (await raceAbort(firstValueFrom(cut$), until)).size;
  };
}

/**
 * A window is judged once the steps of those before it are scheduled, and with it the last verdicts of the
 * run.
 */
function runningFront(
  { context: { log } }: PolicyLoop,
  { frontMemory: memory, epochs }: CalibrateSettings,
  { window }: RoundSizes,
  { values$ }: Feedback<Batch>,
): RunningFront {
  return {
    memory,
    async turn(version, until) {
      if (version === 0) return;
      await raceAbort(firstValueFrom(values$.pipe(first(({ step }) => step >= version))), until);
    },
    async recent() {
      const last: Selected[] = [];
      // Of a window that is read in part, only what is judged behind all others may be missing.
      const from = { kind: 'last', count: 2 * epochs * (memory + window) } as const;
      for await (const { value } of recordsOf(log, topics.selected, { from })) last.push(value);
      return last;
    },
  };
}

/** Which settings ask for more than there is, and what comes of it. */
export function unmet(
  { explore, keep, epochs, batchGroups }: CalibrateSettings,
  sizes: RoundSizes,
): string[] {
  const most = sizes.lengthMs === null ? Math.min(keep, sizes.explore) * epochs : batchGroups;
  return [
    ...(explore > sizes.explore
      ? [
          `explore=${explore} exceeds the ${sizes.explore} training questions, so each round uses all of them`,
        ]
      : []),
    // Where all are kept, the two are one setting.
    ...(keep > sizes.explore && keep !== explore
      ? [
          `keep=${keep} exceeds the ${sizes.explore} candidates of a round, so all that qualify are kept`,
        ]
      : []),
    ...(batchGroups > most
      ? [
          `batchGroups=${batchGroups} exceeds the ${most} groups of a round, so each step uses all of them`,
        ]
      : []),
  ];
}

/** Candidates of a round; those that Pareto sampling sorts at once, and how many of them it keeps. */
export interface RoundSizes {
  readonly explore: number;
  readonly window: number;
  readonly keep: number;
  /** How long a round takes candidates; null = until it has all that it explores. */
  readonly lengthMs: number | null;
}

/**
 * `train` = questions to train on. Where groups are trained on as they are, a window is a step: of
 * `batchGroups` where all are kept, else as large as it takes to make the steps that the kept ones fill.
 */
export function sizesOf(
  {
    select,
    batchGroups,
    ...rest
  }: Pick<CalibrateSettings, 'select' | 'explore' | 'keep' | 'batchGroups' | 'window'>,
  train: number,
): RoundSizes {
  const explore = Math.min(rest.explore, train);
  const lengthMs = windowLengthMs(rest.window, train);
  // How many candidates come in a time nobody knows: all of it are one window.
  if (select === 'questions' || lengthMs !== null) {
    return { explore, window: explore, keep: rest.keep, lengthMs };
  }
  const window =
    rest.keep >= explore
      ? Math.min(batchGroups, explore)
      : placesEach(explore, stepsOf(rest.keep, batchGroups));
  return { explore, window, keep: batchGroups, lengthMs };
}

/**
 * Each window is one step, so where nothing is trained before the rounds, the version that each begins with
 * is known.
 */
function rounds(
  settings: CalibrateSettings,
  { explore, window, lengthMs }: RoundSizes,
  { before }: MethodPlace,
): RoundPlan[] {
  const steps = stepsEach(settings, { explore, window });
  const planOf = (round: number): RoundPlan => {
    const version = before.length > 0 ? AFTER_LAST_ROUND : round * stepsOf(explore, window);
    const plan: RoundPlan = {
      name: `round ${round + 1}`,
      phase: 'explore',
      count: explore,
      skip: round * explore,
      ...(lengthMs === null ? {} : { lengthMs }),
      evaluated: isEvaluated(round, steps, settings),
      ...(settings.rounds === 'forever' ? { next: () => planOf(round + 1) } : {}),
    };
    if (settings.select === 'questions') return plan;
    return { ...plan, schedule: (index) => ({ index, of: explore, version }) };
  };
  if (settings.rounds === 'forever') return [planOf(0)];
  return Array.from({ length: settings.rounds }, (_, round) => planOf(round));
}

/** Steps of a round that keeps all it may. */
function stepsEach(
  { select, keep, epochs, batchGroups }: CalibrateSettings,
  { explore, window }: Pick<RoundSizes, 'explore' | 'window'>,
): number {
  if (select === 'groups') return stepsOf(explore, window);
  return stepsOf(Math.min(keep, explore) * epochs, batchGroups);
}

/**
 * Whether a round, from 0, is the first to end at or behind another `evaluateEvery` steps, or the last of
 * all.
 */
function isEvaluated(
  round: number,
  steps: number,
  { evaluateEvery, rounds }: Pick<CalibrateSettings, 'evaluateEvery' | 'rounds'>,
): boolean {
  if (evaluateEvery === 0 || round + 1 === rounds) return true;
  const due = (ended: number): number => Math.floor((ended * steps) / evaluateEvery);
  return due(round + 1) > due(round);
}

/** Groups of rollouts that branch where they are trained on. */
function loopOf(
  settings: CalibrateSettings,
  { window }: RoundSizes,
  { before, live }: MethodPlace,
): LoopShare {
  const { rollouts, evaluationRollouts, batchGroups, miniBatches, attribution } = settings;
  const { lr, lrSteps } = settings;
  const fixed = live === undefined && lrSteps.length === 0;
  const now = (version: number) => changed({ lr, lrSteps }, live?.at(version));
  const explored = settings.exploreRollouts || rollouts;
  const branching = branchings[settings.branching](settings);
  const estimator: AdvantageEstimator = advantageEstimators[settings.advantage];
  return {
    samples: ({ phase, schedule }) => {
      if (phase === 'evaluate') return evaluationRollouts;
      return phase === 'explore' && schedule === null ? explored : rollouts;
    },
    branching: ({ schedule }) => (schedule === null ? null : branching),
    reward: rewards[settings.reward](
      settings,
      before.length + 1,
      (question) => changed(settings, live?.of(question)),
      window,
    ),
    answers: settings.answers,
    advantage: estimator.group,
    actionAdvantage: estimator.actions,
    training: { miniBatches, attribution, ...policyTraining(settings) },
    rates: { policy: fixed ? lr : (batch) => rateAt(batch, now(batch.version)) },
    batchGroups,
    window,
  };
}

const branchings = { arpo, aepo, none: () => null };

/** By the names of the setting; `first` = the job's round that is the first of this method. */
const rewards: Record<
  CalibrateSettings['reward'],
  (
    settings: CalibrateSettings,
    first: number,
    now: (question: Question) => CalibrateSettings,
    window: number,
  ) => RewardFunction
> = {
  efficiency: calibrating,
  accuracy: ({ mode }) => accuracy(mode === 'paper' ? 'f1' : 'match'),
  'deep-research': () => deepResearch(),
  hierarchical: () => hierarchical(),
};

/** Settings with what was changed of them while the run went on. */
function changed<Some extends object>(settings: Some, changes: object | undefined): Some {
  return { ...settings, ...changes };
}

/**
 * The efficiency reward, its strength falling from round to round; evaluations count accuracy and format
 * alone.
 */
function calibrating(
  settings: CalibrateSettings,
  first: number,
  now: (question: Question) => CalibrateSettings,
  window: number,
): RewardFunction {
  const { mode } = settings;
  const sigma = (question: Question): number => {
    if (question.phase === 'evaluate') return 0;
    const { sigmas, sigmaSteps } = now(question);
    const step = stepOfGroup(question, { ...settings, window });
    const ofStep = step === null ? (sigmaSteps[0]?.[1] ?? null) : byStep(sigmaSteps, step);
    if (ofStep !== null) return ofStep * withinRound(question, settings);
    const ofRound = sigmas[question.round - first] ?? sigmas.at(-1) ?? 0;
    return ofRound * withinRound(question, settings);
  };
  return efficiency({
    sigmaTool: sigma,
    sigmaLength: (question) => sigma(question) * now(question).lengthWeight,
    mode,
  });
}

/** The step that a group is trained on by; null where it has no place in one. */
function stepOfGroup(
  { schedule, phase }: Question,
  { batchGroups, window }: StepSizes,
): number | null {
  if (schedule === null || schedule.version === AFTER_LAST_ROUND) return null;
  const step = stepAt(schedule, phase === 'practice' ? batchGroups : window);
  return versionOf(schedule.version, step) + 1;
}

function rateAt(
  { step }: Batch,
  { lr, lrSteps }: Pick<CalibrateSettings, 'lr' | 'lrSteps'>,
): number {
  return byStep(lrSteps, step) ?? lr;
}

/** The released trainer's decay within a round (ET-Agent §8.6): from 1 at its first step to 0 at its last. */
function withinRound(
  { schedule, phase }: Question,
  { sigmaDecay, batchGroups }: CalibrateSettings,
): number {
  if (!sigmaDecay || schedule === null || phase !== 'practice') return 1;
  const { index, of } = stepAt(schedule, batchGroups);
  return sigmaFactor(index + 1, of);
}
