/**
 * The gate: a question is admitted when the policy is of the version that the question is due (`versionDue`
 * of schedule.ts), so that staleness is a number and not an accident. Guarantees:
 * - `lagMax` 0: admitted under exactly the version that is due; weights are swapped only while nothing is in
 *   flight, and an older version is loaded again when a resumed question is due it;
 * - `lagMax` K: admitted under the newest version once it is at most K behind what is due;
 * - admission is in order of arrival among the questions whose version exists; nothing is thrown away;
 * - a bounded number of those that are due are admitted at once (`admission`); a question that waits for
 *   its version takes none of their places, so as many wait as the stages have in flight. Stages that run one
 *   operator share its admission.
 */
import { type Observable, of } from 'rxjs';
import type { Checkpoint, PolicyEngine } from '../model/index.ts';
import { notNow, type StopSignals } from '../streams/deliveries/index.ts';
import {
  finishesRound,
  type Question,
  type StepSizes,
  type VersionProgress,
  versionDue,
  type Weights,
  withFirstVersion,
} from '../topics/index.ts';

/** Admits questions, a bounded number at once. */
export interface Admission {
  /** Resolves with the release function; rejects with code `NOT_NOW` if the run stops first. */
  admit(question: Question, signals: StopSignals): Promise<() => void>;
}

/**
 * Concurrency of an operator that waits for admission: all calls in flight, because admission bounds those
 * that work.
 */
export const BOUNDED_BY_ADMISSION = Number.POSITIVE_INFINITY;

/** Admits questions under the version that they are due; all rollouts of a run share one gate. */
export interface PolicyGate {
  /** The version that the engine holds; -1 before the first. */
  readonly version: number;
  /** Rollout groups between admission and release. */
  readonly inflight: number;
  /** A separate admission of at most `concurrency` questions at once. */
  admission(concurrency: number): Admission;
  /** The question with its schedule's first version filled in; call it once the question is admitted. */
  withFirstVersion(question: Question): Question;
  close(): Promise<void>;
}

/** What the gate loads weights into, and how far rollouts may lag behind (versions). */
export interface GateOptions extends StepSizes {
  readonly engine: PolicyEngine;
  /** Every manifest of the run, oldest first. */
  readonly weights$: Observable<Weights>;
  /** Reads an older manifest, for a question of an earlier start; left out = only recent ones. */
  readonly manifest?: (version: number) => Promise<Weights>;
  readonly resolve: (weights: Weights) => Checkpoint;
  readonly lagMax: number;
  /** Admits all questions that are due at once: for a replay, where the record decides the order. */
  readonly unlimited?: boolean;
  /** While true, no question is admitted; never unless given. */
  readonly paused$?: Observable<boolean>;
  /** How many an admission made for `asked` admits at once, from this version on; `asked` unless given. */
  readonly places?: (asked: number, version: Weights) => number;
}

/**
 * Places of an admission: those requested when it was made, those it has now, and those taken. The first two
 * may be infinite.
 */
interface Slots {
  readonly asked: number;
  all: number;
  /** May exceed the places for a while after these have become fewer. */
  taken: number;
}

interface Waiter {
  readonly question: Question;
  /** Of its admission. */
  readonly slots: Slots;
  readonly enter: () => void;
  readonly fail: (error: Error) => void;
}

/** Manifests held; questions of one start are due few versions before the newest. */
const RECENT_MAX = 64;

/**
 * Opens the gate; close it at the end of the run. Once a load fails, every admission rejects with that error.
 */
export function policyGate(options: GateOptions): PolicyGate {
  const { engine, lagMax, unlimited = false, paused$ = of(false) } = options;
  const { places = (asked: number) => asked } = options;
  const admissions: Slots[] = [];
  /** The first version after each round; versions rise. */
  const known: VersionProgress[] = [];
  /** The newest manifests by version, oldest first. */
  const recent = new Map<number, Weights>();
  let last: Weights | null = null;
  /** Bounded by what the stages have in flight. */
  const waiters: Waiter[] = [];
  let version = -1;
  let inflight = 0;
  let loading = false;
  let failed: Error | null = null;
  let paused = false;

  const newest = (): number => last?.version ?? -1;

  /** The version to load for this question now, or null if it has to wait for one. */
  const wanted = (question: Question): number | null => {
    const due = versionDue(question, known, options);
    if (due === null || newest() < due - lagMax) return null;
    return lagMax === 0 ? due : newest();
  };

  const load = async (target: number): Promise<void> => {
    const weights = recent.get(target) ?? (await options.manifest?.(target));
    if (weights === undefined) throw new Error(`there is no manifest of policy version ${target}`);
    await engine.load(options.resolve(weights));
    version = target;
  };

  const fail = (error: unknown): void => {
    failed = error instanceof Error ? error : new Error(String(error));
    for (const waiter of waiters.splice(0)) waiter.fail(failed);
  };

  const pump = (): void => {
    while (!loading && !paused) {
      const next = waiters.findIndex(
        ({ question, slots }) => slots.taken < slots.all && wanted(question) !== null,
      );
      if (next < 0) return;
      const { question, slots, enter } = waiters[next]!;
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
      slots.taken++;
      waiters.splice(next, 1);
      enter();
    }
  };

  const admit = (question: Question, slots: Slots, signals: StopSignals): Promise<() => void> =>
    new Promise((resolve, reject) => {
      const { signal, stopping } = signals;
      if (failed !== null) return reject(failed);
      const abort = (): void => {
        forget();
        const place = waiters.indexOf(waiter);
        if (place >= 0) waiters.splice(place, 1);
        reject(notNow('this question was admitted'));
      };
      const forget = (): void => {
        signals.paced?.(false);
        for (const end of [signal, stopping]) end.removeEventListener('abort', abort);
      };
      let released = false;
      const waiter: Waiter = {
        question,
        slots,
        fail: (error) => {
          forget();
          reject(error);
        },
        enter: () => {
          forget();
          resolve(() => {
            if (released) return;
            released = true;
            inflight--;
            slots.taken--;
            pump();
          });
        },
      };
      if (signal.aborted || stopping.aborted) return abort();
      for (const end of [signal, stopping]) end.addEventListener('abort', abort);
      waiters.push(waiter);
      signals.paced?.(true);
      pump();
    });

  const resize = (weights: Weights): void => {
    for (const slots of admissions) slots.all = places(slots.asked, weights);
  };

  const subscription = options.weights$.subscribe({
    next: (weights) => {
      if (last === null || finishesRound(weights, last)) known.push(progressOf(weights));
      last = weights;
      recent.set(weights.version, weights);
      for (const old of recent.keys()) {
        if (recent.size <= RECENT_MAX) break;
        recent.delete(old);
      }
      if (!unlimited) resize(weights);
      pump();
    },
    error: fail,
  });
  subscription.add(
    paused$.subscribe({
      next: (now) => {
        paused = now && !unlimited;
        pump();
      },
      error: fail,
    }),
  );

  return {
    get version() {
      return version;
    },
    get inflight() {
      return inflight;
    },
    admission(concurrency) {
      const all = unlimited ? Number.POSITIVE_INFINITY : concurrency;
      const slots: Slots = { asked: concurrency, all, taken: 0 };
      admissions.push(slots);
      if (last !== null && !unlimited) resize(last);
      return { admit: (question, signals) => admit(question, slots, signals) };
    },
    withFirstVersion: (question) => withFirstVersion(question, known),
    async close() {
      subscription.unsubscribe();
      fail(new Error('the policy gate is closed'));
    },
  };
}

function progressOf({ version, roundsDone }: Weights): VersionProgress {
  return { version, roundsDone };
}
