/**
 * The gate: a question is admitted when the policy is of the version that the question is due, so that
 * staleness is a number and not an accident.
 *
 * What is due follows from the question: `evaluate` of stage s = the version that finished round s; others of stage s = the
 * one that finished round s - 1; a group with place i in a schedule = the round's first version plus floor(i / groups a
 * step). A schedule may leave that first version open (`AFTER_LAST_STAGE`): then it is the one that finished round s - 1
 * too, and the question that leaves the gate says which. Holds true:
 * - `lagMax` 0: admitted under exactly the version that is due; weights are swapped only while nothing is in
 *   flight, and an older version is loaded again when a resumed question is due it;
 * - `lagMax` K: admitted under the newest version once it is at most K behind what is due;
 * - admission is in order of arrival among the questions whose version exists; nothing is thrown away;
 * - a question that waits for its version takes no place of those that are due: it comes in by a door, which lets in so
 *   many at once, and before it as many wait as the stages have in flight. Stages that run one operator share its door.
 */
import type { Observable } from 'rxjs';
import type { PolicyEngine, WeightsRef } from '../model/engine.ts';
import type { Question, Weights } from '../streams/records.ts';
import { notNow, type StopSignals } from '../streams/stopping.ts';

/** Where questions come in. */
export interface Door {
  /** Resolves with the release function; rejects with code `NOT_NOW` when the run stops first. */
  admit(question: Question, signals: StopSignals): Promise<() => void>;
}

/** Calls of an operator that has a door: all that are in flight, for the door bounds those that work. */
export const BEFORE_THE_DOOR = Number.POSITIVE_INFINITY;

export interface PolicyGate {
  /** The version that the engine holds; -1 before the first. */
  readonly version: number;
  /** Rollout groups between admission and release. */
  readonly inflight: number;
  /** A door through which so many are admitted at once at most. */
  door(concurrency: number): Door;
  /** The question with its schedule's first version filled in; to be asked once it is admitted. */
  dated(question: Question): Question;
  close(): Promise<void>;
}

export interface GateOptions {
  readonly engine: PolicyEngine;
  /** Every manifest of the run, oldest first. */
  readonly weights$: Observable<Weights>;
  readonly resolve: (weights: Weights) => WeightsRef;
  /** Practice groups a step. */
  readonly batchGroups: number;
  /** Scheduled candidates a step, where groups are trained on as they are explored. */
  readonly window: number;
  readonly lagMax: number;
  /** Doors let in all who are due: for a replay, where the record decides who waits for whom. */
  readonly wide?: boolean;
}

interface Waiter {
  readonly question: Question;
  /** Of the door where it waits. */
  readonly places: { free: number };
  readonly admit: () => void;
  readonly fail: (error: Error) => void;
}

/** The version of a schedule that begins when the stage before is finished, whichever version that makes. */
export const AFTER_LAST_STAGE = -1;

/** The first version at which so many rounds are finished, or null while there is none. */
function finished(rounds: number, known: readonly Weights[]): number | null {
  let low = 0;
  let high = known.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (known[middle]!.roundsDone >= rounds) high = middle;
    else low = middle + 1;
  }
  return known[low]?.version ?? null;
}

/** The version that a question is due, or null while it does not exist yet. */
export function versionDue(
  question: Question,
  known: readonly Weights[],
  { batchGroups, window }: Pick<GateOptions, 'batchGroups' | 'window'>,
): number | null {
  const { phase, stage, schedule } = question;
  const before = finished(phase === 'evaluate' ? stage : stage - 1, known);
  if (schedule === null) return before;
  const first = schedule.version === AFTER_LAST_STAGE ? before : schedule.version;
  if (first === null) return null;
  return first + Math.floor(schedule.index / (phase === 'practice' ? batchGroups : window));
}

export function policyGate(options: GateOptions): PolicyGate {
  const { engine, lagMax, wide = false } = options;
  /** Manifests by arrival; versions rise. One small record a step. */
  const known: Weights[] = [];
  /** Bounded by what the stages before the doors have in flight. */
  const waiters: Waiter[] = [];
  let version = -1;
  let inflight = 0;
  let loading = false;
  let failed: Error | null = null;

  const newest = (): number => known.at(-1)?.version ?? -1;

  /** The version to hold for this question now, or null when it has to wait for one. */
  const wanted = (question: Question): number | null => {
    const due = versionDue(question, known, options);
    if (due === null || newest() < due - lagMax) return null;
    return lagMax === 0 ? due : newest();
  };

  const load = async (target: number): Promise<void> => {
    const weights = known.find((candidate) => candidate.version === target);
    if (weights === undefined) throw new Error(`no manifest of policy version ${target}`);
    await engine.load(options.resolve(weights));
    version = target;
  };

  const fail = (error: unknown): void => {
    failed = error instanceof Error ? error : new Error(String(error));
    for (const waiter of waiters.splice(0)) waiter.fail(failed);
  };

  const pump = (): void => {
    while (!loading) {
      const next = waiters.findIndex(
        ({ question, places }) => places.free > 0 && wanted(question) !== null,
      );
      if (next < 0) return;
      const { question, places, admit } = waiters[next]!;
      const target = wanted(question)!;
      if (target !== version) {
        if (lagMax === 0 && inflight > 0) return;
        loading = true;
        load(target)
          .catch(fail)
          .finally(() => {
            loading = false;
            pump();
          });
        return;
      }
      inflight++;
      places.free--;
      waiters.splice(next, 1);
      admit();
    }
  };

  const enter = (
    question: Question,
    places: Waiter['places'],
    { signal, stopping }: StopSignals,
  ): Promise<() => void> =>
    new Promise((resolve, reject) => {
      if (failed !== null) return reject(failed);
      const abort = (): void => {
        forget();
        const place = waiters.indexOf(waiter);
        if (place >= 0) waiters.splice(place, 1);
        reject(notNow('this question was admitted'));
      };
      const forget = (): void => {
        for (const end of [signal, stopping]) end.removeEventListener('abort', abort);
      };
      let released = false;
      const waiter: Waiter = {
        question,
        places,
        fail: (error) => {
          forget();
          reject(error);
        },
        admit: () => {
          forget();
          resolve(() => {
            if (released) return;
            released = true;
            inflight--;
            places.free++;
            pump();
          });
        },
      };
      if (signal.aborted || stopping.aborted) return abort();
      for (const end of [signal, stopping]) end.addEventListener('abort', abort);
      waiters.push(waiter);
      pump();
    });

  const subscription = options.weights$.subscribe({
    next: (weights) => {
      known.push(weights);
      pump();
    },
    error: fail,
  });

  return {
    get version() {
      return version;
    },
    get inflight() {
      return inflight;
    },
    door(concurrency) {
      const places = { free: wide ? Number.POSITIVE_INFINITY : concurrency };
      return { admit: (question, signals) => enter(question, places, signals) };
    },
    dated(question) {
      const { schedule, stage } = question;
      if (schedule?.version !== AFTER_LAST_STAGE) return question;
      const version = finished(stage - 1, known);
      if (version === null) throw new Error(`question ${question.id} has not been admitted`);
      return { ...question, schedule: { ...schedule, version } };
    },
    async close() {
      subscription.unsubscribe();
      fail(new Error('the policy gate is closed'));
    },
  };
}
