/**
 * `batch`: groups to train on in, the schedule of one optimiser step out.
 *
 * Strict order: a step takes the groups that are its own by their place in the round, in that order, whatever
 * order they finished in. The record is the schedule (which groups, in which order, under which version), not
 * the tokens: the order is data, and a replay follows it.
 *
 * Steps are written in order too, where `scheduled$` is given: with a lag a later one may be complete
 * first, and waits.
 *
 * Two forms: `batch` schedules practice groups, B a step; `batchSelected` trains on the groups that won their
 * window of Pareto sampling as they are, one window per step.
 */
import {
  first,
  firstValueFrom,
  fromEvent,
  map,
  type Observable,
  type OperatorFunction,
  of,
  pipe,
  race,
} from 'rxjs';
import { type Delivery, type StopSignals, unlessStopping } from '../streams/deliveries/index.ts';
import { gatherBy, keepIf, mapEach } from '../streams/index.ts';
import {
  type Batch,
  type Position,
  type ScheduleStep,
  type Scored,
  type Selected,
  stepAt,
  stepRecord,
  versionOf,
} from '../topics/index.ts';
import { type WithPosition, withPosition } from './withPosition.ts';

interface ScheduleOptions {
  /** Limit of incomplete steps: `stepsOpen(lagMax)` suffices. */
  readonly openMax: number;
  /**
   * The newest record of the `batches` topic, and each that comes (`feedback(topics.batches)`): each step is
   * written after the one before it. Left out: a step is written as soon as it is complete.
   */
  readonly scheduled$?: Observable<Batch>;
}

/** How `batch` makes steps from practice groups. */
export interface BatchOptions extends ScheduleOptions {
  /** Groups per step (B). */
  readonly groups: number;
}

/** How `batchSelected` makes steps from the groups that Pareto sampling kept. */
export interface BatchSelectedOptions extends ScheduleOptions {
  /** Candidates of a window. */
  readonly window: number;
}

/** A group's place: its step, and its index there. */
interface Slot {
  readonly round: number;
  /** The version that the step starts from. */
  readonly version: number;
  readonly step: ScheduleStep;
  readonly place: number;
  /** The groups of the step. */
  readonly size: number;
  readonly questionId: string;
  readonly scored: Position;
}

function practised({ value, position }: WithPosition<Scored>, groups: number): Slot {
  const { id: questionId, round, schedule } = value.question;
  const step = stepAt(schedule!, groups);
  const version = versionOf(schedule!.version, step);
  const { index: place } = schedule!;
  return { step, round, version, place, size: step.size, questionId, scored: position };
}

function won({ question, index, of, version, scored }: Selected, window: number): Slot {
  const { id: questionId, round, schedule } = question;
  const step = stepAt(schedule!, window);
  return { step, round, version, place: index, size: of, questionId, scored };
}

function schedule(slots: readonly Slot[]): Batch {
  const ordered = [...slots].sort((a, b) => a.place - b.place);
  const { round, version, step } = ordered[0]!;
  const groups = ordered.map(({ questionId, scored }) => ({ questionId, scored }));
  return { ...stepRecord(round, version, step), kind: 'policy', groups, examples: [], heldOut: [] };
}

function schedules({
  openMax,
  scheduled$,
}: ScheduleOptions): OperatorFunction<Delivery<Slot>, Delivery<Batch>> {
  return pipe(
    gatherBy<Slot>({
      key: ({ round, version }) => `${round}/${version}`,
      size: ({ size }) => size,
      openMax,
    }),
    mapEach(
      (slots, scope) => {
        const batch = schedule(slots);
        return scheduled$ === undefined ? batch : inTurn(batch, scheduled$, scope);
      },
      { concurrency: openMax, onError: 'fail' },
    ),
  );
}

/** The step, once the one before it is in the topic. */
async function inTurn(
  batch: Batch,
  scheduled$: Observable<Batch>,
  signals: StopSignals,
): Promise<Batch> {
  const { step } = batch;
  if (step === 1) return batch;
  const before$ = scheduled$.pipe(first((newest) => newest.step >= step - 1));
  await unlessStopping(signals, `the turn of step ${step}`, (until) =>
    firstValueFrom(race(before$, abortOf(until))),
  );
  return batch;
}

function abortOf(signal: AbortSignal): Observable<never> {
  const aborted$: Observable<unknown> = signal.aborted ? of(null) : fromEvent(signal, 'abort');
  return aborted$.pipe(
    map((): never => {
      throw signal.reason;
    }),
  );
}

/**
 * scored (practice) → batches. Groups without a place in a practice schedule are dropped: nothing is trained
 * on them.
 */
export function batch(options: BatchOptions): OperatorFunction<Delivery<Scored>, Delivery<Batch>> {
  return pipe(
    keepIf<Scored>(({ question }) => question.phase === 'practice' && question.schedule !== null),
    withPosition<Scored>(),
    mapEach((group) => practised(group, options.groups), { concurrency: 1 }),
    schedules(options),
  );
}

/** selected → batches: the groups that were kept, one window per step. */
export function batchSelected(
  options: BatchSelectedOptions,
): OperatorFunction<Delivery<Selected>, Delivery<Batch>> {
  return pipe(
    keepIf<Selected>((selected) => selected.kept),
    mapEach((selected) => won(selected, options.window), { concurrency: 1 }),
    schedules(options),
  );
}
