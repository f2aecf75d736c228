/**
 * The schedule: place → step → version. Which optimiser step a group belongs to, which version of the policy
 * a question is due, and which round a version finishes. Everything that plans, admits, gathers, rewards,
 * trains or replays asks here.
 *
 * A job has rounds. Round 0 is before any training; each later one ends with its last optimiser step. Groups
 * that are trained on have places in their round (`Question.schedule`: place `index` of `of`), and a step
 * takes a number of them in order:
 *
 *     place       0     1     2   |   3     4     5   |   6     7          3 places a step: 3 steps, the last one smaller
 *     step              0         |         1         |      2
 *     version         first       |     first + 1     |  first + 2        rolls out these places; the step begins with it
 *     makes         first + 1     |     first + 2     |  first + 3        the last one finishes the round
 *
 * A window of candidates that Pareto sampling sorts at once, if the kept are trained on as they are, is
 * such a step too. A window that is cut by time begins when its first candidate comes, so none is empty, and
 * takes what comes until its time is up or it is full. Its size is unknown until it is cut, so the cut is a
 * record (`windows`). Versions rise by one per step over the whole run. If no lag is allowed, a place is
 * rolled out by exactly the version that its step begins with. The laws are in test/streams/schedule.test.ts.
 */
import type { Batch, Question, Schedule, Weights, Window } from './all.ts';

/** The version of a schedule that begins when the round before is finished, whichever version that makes. */
export const AFTER_LAST_ROUND = -1;

/** Places a step. */
export interface StepSizes {
  /** Practice groups a step (B). */
  readonly batchGroups: number;
  /** Candidates per step, if groups are trained on as they are explored. */
  readonly window: number;
}

/** A step of a round, and the places that it takes: `size` of them from `begin` on. */
export interface ScheduleStep {
  /** Its number in the round, from 0, and how many steps the round has. */
  readonly index: number;
  readonly of: number;
  readonly begin: number;
  readonly size: number;
  readonly last: boolean;
}

/** What a manifest of weights says about the schedule. */
export type VersionProgress = Pick<Weights, 'version' | 'roundsDone'>;

/** How many steps `places` places make. */
export function stepsOf(places: number, per: number): number {
  return Math.ceil(places / per);
}

/** Places per step, so that `places` places make at most `steps` steps. */
export function placesEach(places: number, steps: number): number {
  return Math.ceil(places / steps);
}

/** The step of a place, with `per` places per step. */
export function stepAt({ index, of }: Pick<Schedule, 'index' | 'of'>, per: number): ScheduleStep {
  const step = Math.floor(index / per);
  const steps = stepsOf(of, per);
  const begin = step * per;
  return {
    index: step,
    of: steps,
    begin,
    size: Math.min(per, of - begin),
    last: step === steps - 1,
  };
}

/**
 * The window of a candidate, as a step of its round: `per` places each; without places the round is one
 * window.
 */
export function windowOf({ schedule }: Pick<Question, 'schedule'>, per: number): ScheduleStep {
  return stepAt(schedule ?? { index: 0, of: per }, per);
}

/** The open window, if windows are cut by time. */
export type OpenWindow = Pick<Window, 'round' | 'size' | 'beganMs'>;

/** The window once a candidate of this round has come; null = none was open. */
export function windowWith(open: OpenWindow | null, round: number, nowMs: number): OpenWindow {
  if (open?.round === round) return { ...open, size: open.size + 1 };
  return { round, size: 1, beganMs: nowMs };
}

/** How much longer it takes candidates; 0 or less = it has ended. */
export function windowLeftMs({ beganMs }: OpenWindow, lengthMs: number, nowMs: number): number {
  return beganMs + lengthMs - nowMs;
}

/** The version that a step begins with, if the first step of its round begins with `first`. */
export function versionOf(first: number, { index }: Pick<ScheduleStep, 'index'>): number {
  return first + index;
}

/** What a batch says about its step; steps are counted from 1 over the run, and step k makes version k. */
export function stepRecord(
  round: number,
  version: number,
  { index, of }: Pick<ScheduleStep, 'index' | 'of'>,
): Pick<Batch, 'step' | 'round' | 'version' | 'index' | 'of' | 'last'> {
  return { step: version + 1, round, version, index, of, last: index === of - 1 };
}

/** The version that a step makes. */
export function versionMade({ version }: Pick<Batch, 'version'>): number {
  return version + 1;
}

/** Rounds that are finished once a step is made. */
export function roundsDone({ round, last }: Pick<Batch, 'round' | 'last'>): number {
  return last ? round : round - 1;
}

/** The version that the first step of a batch's round began with. */
export function beginOfRound({ version, index }: Pick<Batch, 'version' | 'index'>): number {
  return version - index;
}

/** Whether a version is the one that finished a round; `before` is its predecessor. */
export function finishesRound(made: VersionProgress, before: VersionProgress): boolean {
  return made.roundsDone !== before.roundsDone;
}

/** Rounds that are finished before a question is asked: its own if it evaluates the round's result. */
export function roundsBefore({ phase, round }: Pick<Question, 'phase' | 'round'>): number {
  return phase === 'evaluate' ? round : round - 1;
}

/**
 * The first version at which this many rounds are finished; null while there is none. `known` = all versions
 * from the first on, or of each number of finished rounds the first one.
 */
export function versionAfter(rounds: number, known: readonly VersionProgress[]): number | null {
  let low = 0;
  let high = known.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (known[middle]!.roundsDone >= rounds) high = middle;
    else low = middle + 1;
  }
  return known[low]?.version ?? null;
}

/**
 * The version that a question is due; null while it is unknown. Without a place it is the one that finished
 * the rounds before it; with a place, the one that its step begins with, which may not exist yet.
 */
export function versionDue(
  question: Question,
  known: readonly VersionProgress[],
  { batchGroups, window }: StepSizes,
): number | null {
  const { phase, schedule } = question;
  const before = versionAfter(roundsBefore(question), known);
  if (schedule === null) return before;
  const first = schedule.version === AFTER_LAST_ROUND ? before : schedule.version;
  if (first === null) return null;
  return versionOf(first, stepAt(schedule, phase === 'practice' ? batchGroups : window));
}

/**
 * The question with the first version of its schedule filled in if that was left open. Throws while it does
 * not exist.
 */
export function withFirstVersion(question: Question, known: readonly VersionProgress[]): Question {
  const { schedule } = question;
  if (schedule?.version !== AFTER_LAST_ROUND) return question;
  const version = versionAfter(roundsBefore(question), known);
  if (version === null) throw new Error(`the round of question ${question.id} has not begun`);
  return { ...question, schedule: { ...schedule, version } };
}

/**
 * Where a run is repeated with other settings: by how many versions a question's round begins later than it
 * did in the record. `recorded` = all recorded manifests, in order; `begun` = the version that the round
 * begins with now.
 */
export function movedBy(
  question: Question,
  recorded: readonly VersionProgress[],
  begun: number,
): number {
  return begun - (versionAfter(roundsBefore(question), recorded) ?? begun);
}

/** The place that a question has now; where its first version is open, that of the record, moved. */
export function movedSchedule(
  { schedule }: Question,
  recorded: Schedule | null,
  moved: number,
): Schedule | null {
  if (schedule?.version !== AFTER_LAST_ROUND || recorded === null) return schedule;
  return { ...schedule, version: recorded.version + moved };
}

/**
 * The version whose manifest holds the settings for everything that is due a given version: it exists before
 * any of that is admitted, in every process.
 */
export function decidedBy(due: number, lagMax: number): number {
  return Math.max(0, due - lagMax);
}

/** The first step that is made with the settings of a version's manifest. */
export function firstStepOf(version: number, lagMax: number): number {
  return version === 0 ? 1 : version + lagMax + 1;
}

/** Steps that may be incomplete at once if rollouts may lag by `lagMax` versions. */
export const stepsOpen = (lagMax: number): number => lagMax + 2;
/** Windows of candidates that may be incomplete at once if rollouts may lag by `lagMax` versions. */
export const windowsOpen = (lagMax: number): number => lagMax + 1;
