/**
 * The loop of every training job: questions are rolled out by the newest policy, scored, and
 * whatever the `batches` topic schedules is trained on; the new weights go back to the rollouts. Held-out
 * questions take the same path and are measured.
 *
 *     questions ─► rolled ─► scored ─► … a method … ─► batches ─► trained ─► weights
 *         ▲ gate                │                                               │
 *         └─────────────────────│───────────────────────────────────────────────┘
 *                               └─► watched (metrics, files, the screen)
 *
 * A method is the part in the middle: a page of its own (`flywheel`, `finetune`, `calibrate`, …) that names
 * the parts of the loop that it uses. Several methods on one loop make one job (method.ts): `flow` counts a
 * part that is named twice once.
 */
import { type OperatorFunction, of, tap } from 'rxjs';
import { MillraceError, sleepClock } from '../base/index.ts';
import {
  describeSampling,
  type PolicyEngine,
  ruleBetween,
  type TrainerEngine,
} from '../model/index.ts';
import type { Dialect, ResultTokens } from '../operators/dialect/index.ts';
import {
  type CallTool,
  measure,
  type PolicyGate,
  policyGate,
  type RolloutOptions,
  rollout,
  type ScoreOptions,
  score,
} from '../operators/index.ts';
import { worldSuccess } from '../operators/metrics/deepAgent/index.ts';
import { execution } from '../operators/metrics/index.ts';
import {
  type RewardFunction,
  sessionReward,
  type VerifyAnswer,
  verifiedMath,
  weighted,
} from '../operators/rewards/index.ts';
import { answerCalls, throughTopics, toolTopics } from '../operators/tools/index.ts';
import { Measuring, progress, type TrainerOptions, trainer } from '../sinks/index.ts';
import { weightsStore } from '../sinks/weights/index.ts';
import { type Delivery, neverStopping } from '../streams/deliveries/index.ts';
import {
  type Changes,
  type Flow,
  feedback,
  flow,
  keepIf,
  type Stage,
  sink,
  source,
  stage,
} from '../streams/index.ts';
import {
  type Batch,
  type BatchKind,
  type Phase,
  type Question,
  type Rollout,
  type StepSizes,
  stepsOpen,
  topics,
  type Weights,
} from '../topics/index.ts';
import { announcing } from './announce.ts';
import { attempted } from './attempt.ts';
import type { JobContext, Replay } from './defineJob.ts';
import { LiveHandle } from './live.ts';
import { promptRecord } from './parts/promptRecord.ts';
import { versionsOnDisk } from './parts/versionsOnDisk.ts';
import type { QuestionPlan } from './plan.ts';
import type { PolicySettings } from './policySettings.ts';
import { placeIn } from './runPlace.ts';

/** What a job runs on. */
export interface PolicyParts {
  readonly engine: PolicyEngine;
  readonly trainer: TrainerEngine;
  readonly tools: CallTool;
  /** How the policy is asked, calls and answers; its tools are those of `tools`. */
  readonly dialect: Dialect;
  /**
   * The first policy: a policy file, which is copied into the run, or a Hugging Face folder, which stays
   * where it is.
   */
  readonly base: string;
  /** The helpers of rollouts; left out = no help. */
  readonly helping?: RolloutOptions['helping'];
}

/** What the loop itself gives the trainer. */
type LoopOwned =
  | 'engine'
  | 'store'
  | 'log'
  | 'clock'
  | 'lagMax'
  | 'encode'
  | 'keepVersions'
  | 'keepRule'
  | 'keepStates'
  | 'saveEvery'
  | 'report'
  | 'lr'
  | 'controls'
  | 'turn'
  | 'watch';

/**
 * What a method decides: how often and how a question is rolled out, how that is rewarded, what is trained
 * on.
 */
export interface LoopOptions extends StepSizes {
  readonly samples: RolloutOptions['samples'];
  readonly branching: RolloutOptions['branching'];
  readonly toolLimit?: RolloutOptions['toolLimit'];
  /** How to grow a group; from segments, calls and branches unless given. */
  readonly grow?: RolloutOptions['grow'];
  /**
   * Must give the part `raw` (how right a response is, 0 to 1); otherwise the first group ends the run with
   * code `REWARD_PART`.
   */
  readonly reward: RewardFunction;
  /** Compares mathematical answers for the reward (`verifiedMath`); absent if left out. */
  readonly verify?: VerifyAnswer;
  /** Where rewards look for answers and form (default `own`: what the policy wrote). */
  readonly answers?: ScoreOptions['answers'];
  readonly advantage: ScoreOptions['advantage'];
  readonly actionAdvantage?: ScoreOptions['actionAdvantage'];
  readonly training: Omit<TrainerOptions, LoopOwned> & {
    /**
     * Whether demonstrations and pairs teach what tools wrote; `masked` if left out (docs/losses.md says
     * why).
     */
    readonly results?: ResultTokens;
  };
  /** Learning rates by the kind of batch. */
  readonly rates: Readonly<Partial<Record<BatchKind, TrainerOptions['lr']>>>;
  /**
   * Phases of the `questions` topic that the loop's own stage rolls out (default: all but `evolve` and
   * `practice`). A method has stages of its own for the others: questions that wait for weights must not
   * come before those that make them.
   */
  readonly phases?: readonly Phase[];
  /** Settings that change during the run; a handle of its own if left out. */
  readonly live?: LiveHandle;
  /**
   * The newest version answers every request, however many steps it is behind when the result is trained on.
   */
  readonly newest?: boolean;
}

/**
 * The parts of the loop, for a method to wire: stages of the flow, the gate that all rollouts share, and what
 * they run on.
 */
export interface PolicyLoop {
  readonly context: JobContext<PolicySettings>;
  readonly parts: PolicyParts;
  readonly plan: QuestionPlan;
  readonly gate: PolicyGate;
  /** Rolls out under the version that each question is due. */
  readonly rollout: OperatorFunction<Delivery<Question>, Delivery<Rollout>>;
  /** The first policy, and the questions. */
  readonly begun: Flow;
  readonly rolled: Stage;
  readonly scored: Stage;
  readonly trained: Stage;
  readonly watched: Flow;
}

/**
 * How many endless questions, or questions of an endless job, may be in the topic before they are read.
 */
const LEAD = 64;

/**
 * Opens the loop: adopts the base policy, builds its stages. On a replay, engine and tools are those of the
 * record.
 */
export async function policyLoop(
  context: JobContext<PolicySettings>,
  given: PolicyParts,
  plan: QuestionPlan,
  options: LoopOptions,
): Promise<PolicyLoop> {
  const { settings, log, folder, clock, seed, own, place = placeIn(folder, log) } = context;
  const { parts, answering } = called(replayed(given, context.replay), context);
  const { engine, tools, dialect } = parts;
  const { lagMax, concurrency } = settings;
  const asked = promptRecord(dialect);
  context.prompted?.(asked);
  await place.prompted(asked);
  for (const note of dialect.notes ?? []) context.print(note);
  for (const loss of Object.values(options.training.losses)) await parts.trainer.check?.(loss);
  const store = weightsStore(folder, log, place.checkpoints);
  const first = { value: await store.adopt(parts.base) };
  const weights = feedback(topics.weights, { history: 'passed' });
  const known = { weights$: weights.values$, manifest: store.manifest, resolve: store.resolve };
  const { batchGroups, window, rates, live = own(new LiveHandle(context.control)) } = options;
  const { control, replay } = context;
  live.bind({ batchGroups, window, lagMax, ...known });
  const unlimited = replay !== undefined;
  const paused$ = control?.paused$ ?? of(false);
  const places = (asked: number, { controls }: Weights): number =>
    numberIn(control?.changes(Math.min(controls, control.count)), 'concurrency') ?? asked;
  const behind = options.newest === true ? Number.POSITIVE_INFINITY : lagMax;
  const gated = { batchGroups, window, lagMax: behind, ...known, engine, paused$, places };
  const gate = own(policyGate({ ...gated, unlimited }));

  const { helping } = parts;
  const policy = { engine, tools, dialect, gate, seed, clock, report: context.print, helping };
  const rolls = { ...settings, ...options, ...policy, live };
  const rolling = rollout(rolls);
  const openMax = concurrency * 2;
  const judged = score({
    tools,
    reward: whenReady(watched(worldSuccess(sessionReward(verified(options)))), live),
    answers: options.answers ?? 'own',
    formatFault: dialect.formatFault,
    advantage: options.advantage,
    actionAdvantage: options.actionAdvantage,
    partsNeeded: ['raw'],
    openMax,
  });
  const { results = 'masked', ...training } = options.training;
  const encode = (question: string, text: string) => dialect.encodeExample(question, text, results);
  const learner = engine.compareWith?.(parts.trainer) ?? parts.trainer;
  await context.opened?.({
    ...{ engine, dialect, trainer: learner, base: parts.base, questions: plan },
    ...{ first: store.resolve(first.value), question: aQuestion(plan) },
    planned: (id) => plannedQuestion(plan, id),
    attempt(question, samples) {
      const only = own(policyGate({ ...gated, unlimited: true, weights$: of(first.value) }));
      const rollouts = rollout({ ...rolls, gate: only, samples: () => samples });
      return attempted(question, { log, clock, answering, rollout: rollouts, score: judged });
    },
  });
  const means = { engine: learner, store, log, clock, lagMax, encode, report: context.print };
  const lr = (batch: Batch): number => rateOf(batch, rates);
  const controls = replay?.controls ?? (() => control?.count ?? 0);
  const turn = async ({ version }: Batch, until: AbortSignal): Promise<void> => {
    await live.ready(version, until);
    if (replay === undefined) await control?.going(until);
  };
  const growing = {
    rounds: plan.endless ? null : plan.rounds.length,
    tokens: tokensOf(plan, settings),
  };
  const disk = await versionsOnDisk(parts.trainer, settings, context, growing);
  const agreement = ruleBetween(engine, parts.trainer);
  const { refused, counted, saved } = replay ?? {};
  const recorded = { ...(refused ? { refused } : {}), ...(counted ? { counted } : {}), saved };
  const judging = { agreement, ...recorded, watch: () => place.watch() };
  const learnt = trainer({ ...training, ...means, ...disk, ...judging, lr, controls, turn });
  const openEvaluations = plan.endless ? stepsOpen(lagMax) : plan.rounds.length;
  const measuring = new Measuring(plan.heldOut);
  const onScored = (round: number): void => measuring.scored(round);
  const measured = measure({ questions: plan.heldOut, openMax: openEvaluations, clock, onScored });
  const pulse = () => ({
    inflight: gate.inflight,
    version: gate.version,
    generatedTokens: engine.stats().generatedTokens,
    measuring: measuring.now,
  });
  const shown = progress({
    run: context.run,
    rounds: plan.rounds,
    endless: plan.endless,
    weights: plan.sizes,
    sampling: describeSampling(settings),
    print: context.print,
    screen: context.screen,
    clock,
    pulse,
  });
  const endless = plan.endless || plan.train === Number.POSITIVE_INFINITY;
  const { phases = ['explore', 'evaluate', 'prefer'] } = options;

  return {
    context,
    parts,
    plan,
    gate,
    rollout: rolling,
    begun: flow(
      source('base', topics.weights, [first]),
      source('questions', topics.questions, plan.items, endless ? { leadMax: LEAD } : {}),
      ...answering,
    ),
    rolled: stage('rollout', topics.questions, topics.rollouts, (questions$) =>
      questions$.pipe(inPhase(...phases), tap(askedIn(measuring)), rolling),
    ),
    scored: stage('score', topics.rollouts, topics.scored, judged),
    trained: sink('trainer', topics.batches, weights, learnt, { inflightMax: lagMax + 1 }),
    watched: flow(
      stage('measure', topics.scored, topics.metrics, measured, inflightFor(2 * plan.heldOut)),
      sink('files', topics.metrics, null, place.metrics()),
      sink('progress', topics.metrics, null, shown),
      ...announcing(settings.announce, context),
    ),
  };
}

/** The first question of the plan; a plain one if questions are still to come. */
function aQuestion(plan: QuestionPlan): string {
  return plannedQuestion(plan, null)?.question ?? 'What is 2 + 3?';
}

/** The question with this id, or the first; null if there is none, or questions are still to come. */
function plannedQuestion({ items }: QuestionPlan, id: string | null): Question | null {
  if (!(Symbol.iterator in items)) return null;
  for (const item of items)
    if ('value' in item && (id === null || item.value.id === id)) return item.value;
  return null;
}

/** Limit of response tokens for the plan's questions; null if it has no end. */
function tokensOf(plan: QuestionPlan, settings: PolicySettings): number | null {
  if (plan.endless) return null;
  const { rollouts = 1 } = settings as PolicySettings & { readonly rollouts?: number };
  const questions = plan.sizes.reduce((sum, count) => sum + count, 0);
  return questions * rollouts * settings.responseMax;
}

/** The learning rate of a batch, by its kind. */
function rateOf(batch: Batch, rates: LoopOptions['rates']): number {
  const rate = rates[batch.kind];
  if (rate === undefined) {
    throw new MillraceError('NO_LOSS', `no learning rate for batches of kind ${batch.kind}`);
  }
  return typeof rate === 'number' ? rate : rate(batch);
}

/** A changed setting's value, if it is a number. */
function numberIn(changes: Changes | undefined, name: string): number | undefined {
  const value = changes?.[name];
  return typeof value === 'number' ? value : undefined;
}

/** The reward, computed once this process knows the group's settings. */
function whenReady(reward: RewardFunction, live: LiveHandle): RewardFunction {
  return async (group, signal = neverStopping) => {
    await live.ready(group.question, signal);
    return reward(group, signal);
  };
}

function verified({ reward, verify }: LoopOptions): RewardFunction {
  return verify === undefined ? reward : verifiedMath(reward, verify);
}

/** An evaluation also measures behaviour (`execution`), with weight 0. */
function watched(reward: RewardFunction): RewardFunction {
  const both = weighted([
    { weight: 1, reward },
    { weight: 0, reward: execution() },
  ]);
  return (group, signal) =>
    group.question.phase === 'evaluate' ? both(group, signal) : reward(group, signal);
}

/** The questions asked for one of these reasons. */
export function inPhase(
  ...phases: readonly Phase[]
): OperatorFunction<Delivery<Question>, Delivery<Question>> {
  return keepIf<Question>(({ phase }) => phases.includes(phase));
}

/** Reports the questions of an evaluation as they are asked. */
export function askedIn(measuring: Measuring): (delivery: Delivery<Question>) => void {
  return ({ value: { phase, round } }) => {
    if (phase === 'evaluate') measuring.asked(round);
  };
}

/** On a replay, engine and tools are those of the record. */
function replayed(parts: PolicyParts, replay: Replay | undefined): PolicyParts {
  if (replay === undefined) return parts;
  return { ...parts, engine: replay.engine(parts.engine), tools: replay.tools(parts.tools) };
}

/** The parts with tools called as the settings say, and the stage that answers calls if there is one. */
function called(
  parts: PolicyParts,
  { settings, log, clock, own, print, replay }: JobContext<PolicySettings>,
): { readonly parts: PolicyParts; readonly answering: readonly Stage[] } {
  if (settings.toolCalls === 'direct' || replay !== undefined) return { parts, answering: [] };
  const clocked = { log, clock: sleepClock(clock), report: print };
  const tools = own(throughTopics(parts.tools, clocked));
  const answers = answerCalls(parts.tools, { concurrency: settings.toolsAtOnce });
  const { requests, replies } = toolTopics;
  return { parts: { ...parts, tools }, answering: [stage('tools', requests, replies, answers)] };
}

/** The `inflightMax` of a stage that gathers up to `records` records before it emits anything. */
export function inflightFor(records: number): { readonly inflightMax: number } {
  return { inflightMax: records + 64 };
}
