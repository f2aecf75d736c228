/**
 * `batch`: groups to train on in, the schedule of one optimiser step out.
 *
 * Strict order: a step takes the groups that are its own by their place in the round, in that order, whatever
 * order they finished in. The record is the schedule (which groups, in which order, under which version), not
 * the tokens: the order is data, and a replay follows it.
 *
 * Two forms: `batch` schedules practice groups, B a step; `batchSelected` trains on the groups that won their
 * window of Pareto sampling as they are, a window a step.
 */
import { type OperatorFunction, pipe } from 'rxjs';
import type { Delivery } from '../streams/delivery.ts';
import { gatherBy, keepIf, mapEach } from '../streams/primitives.ts';
import type { Batch, Position, Scored, Selected } from '../streams/records.ts';
import { type Located, located } from './located.ts';

export interface BatchOptions {
  /** Groups a step (B). */
  readonly groups: number;
  /** Steps that may be incomplete at once: lagMax + 2 is enough. */
  readonly openMax: number;
}

export interface BatchSelectedOptions {
  /** Candidates of a window. */
  readonly window: number;
  readonly openMax: number;
}

/** A group's place: in which step, and where in it. */
interface Slot {
  readonly stage: number;
  /** The version that the step starts from. */
  readonly version: number;
  readonly place: number;
  /** Groups of this step. */
  readonly size: number;
  readonly last: boolean;
  readonly questionId: string;
  readonly scored: Position;
}

/** Step `number` of a round holds `per` places of `of`. */
function step(
  index: number,
  of: number,
  per: number,
): { number: number; size: number; last: boolean } {
  const number = Math.floor(index / per);
  const end = (number + 1) * per;
  return { number, size: Math.min(per, of - number * per), last: end >= of };
}

function practised({ value, position }: Located<Scored>, groups: number): Slot {
  const { id, stage, schedule } = value.question;
  const { index, of, version } = schedule!;
  const { number, size, last } = step(index, of, groups);
  return {
    stage,
    version: version + number,
    place: index,
    size,
    last,
    questionId: id,
    scored: position,
  };
}

function won({ question, index, of, version, scored }: Selected, window: number): Slot {
  const { id, stage, schedule } = question;
  const { last } = step(schedule!.index, schedule!.of, window);
  return { stage, version, place: index, size: of, last, questionId: id, scored };
}

function schedule(slots: readonly Slot[]): Batch {
  const ordered = [...slots].sort((a, b) => a.place - b.place);
  const { version, stage, last } = ordered[0]!;
  const groups = ordered.map(({ questionId, scored }) => ({ questionId, scored }));
  return { step: version + 1, stage, version, groups, last };
}

function schedules(openMax: number): OperatorFunction<Delivery<Slot>, Delivery<Batch>> {
  return pipe(
    gatherBy<Slot>({
      key: ({ stage, version }) => `${stage}/${version}`,
      size: ({ size }) => size,
      openMax,
    }),
    mapEach((slots) => schedule(slots), { concurrency: 1, onError: 'fail' }),
  );
}

/** scored (practice) → batches. Groups without a place in a practice schedule are dropped: nothing is trained on them. */
export function batch(options: BatchOptions): OperatorFunction<Delivery<Scored>, Delivery<Batch>> {
  return pipe(
    keepIf<Scored>(({ question }) => question.phase === 'practice' && question.schedule !== null),
    located<Scored>(),
    mapEach((group) => practised(group, options.groups), { concurrency: 1 }),
    schedules(options.openMax),
  );
}

/** selected → batches: the groups that were kept, a window a step. */
export function batchSelected(
  options: BatchSelectedOptions,
): OperatorFunction<Delivery<Selected>, Delivery<Batch>> {
  return pipe(
    keepIf<Selected>((selected) => selected.kept),
    mapEach((selected) => won(selected, options.window), { concurrency: 1 }),
    schedules(options.openMax),
  );
}
