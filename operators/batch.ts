/**
 * `batch`: scored practice groups in, the schedule of one optimiser step out.
 *
 * Strict order: step k of a round takes the groups k·B … k·B + B - 1 of the round, in that order, whatever order
 * they finished in. The record is the schedule (which groups, in which order, under which version), not the
 * tokens: the order is data, and a replay follows it.
 */
import { type OperatorFunction, pipe } from 'rxjs';
import type { Delivery } from '../streams/delivery.ts';
import { gatherBy, keepIf, mapEach } from '../streams/primitives.ts';
import type { Batch, Scored } from '../streams/records.ts';
import { type Located, located } from './located.ts';

export interface BatchOptions {
  /** Groups a step (B). */
  readonly groups: number;
  /** Steps that may be incomplete at once: lagMax + 2 is enough. */
  readonly openMax: number;
}

function schedule(members: readonly Located<Scored>[], groups: number): Batch {
  const ordered = [...members].sort((a, b) => place(a.value) - place(b.value));
  const first = ordered[0]!.value.question;
  const slot = first.schedule!;
  const number = Math.floor(slot.index / groups);
  const version = slot.version + number;
  return {
    step: version + 1,
    stage: first.stage,
    version,
    groups: ordered.map(({ value, position }) => ({
      questionId: value.question.id,
      scored: position,
    })),
    last: (number + 1) * groups >= slot.of,
  };
}

function place(scored: Scored): number {
  return scored.question.schedule!.index;
}

/** How many groups the step of this group has: B, or what is left at the end of the round. */
function size(scored: Scored, groups: number): number {
  const { index, of } = scored.question.schedule!;
  return Math.min(groups, of - Math.floor(index / groups) * groups);
}

/** scored → batches. Groups of other phases are dropped here: nothing is trained on them. */
export function batch(options: BatchOptions): OperatorFunction<Delivery<Scored>, Delivery<Batch>> {
  return pipe(
    keepIf<Scored>((scored) => scored.question.schedule !== null),
    located<Scored>(),
    gatherBy({
      key: ({ value }) => `${value.question.stage}/${Math.floor(place(value) / options.groups)}`,
      size: ({ value }) => size(value, options.groups),
      openMax: options.openMax,
    }),
    mapEach((members) => schedule(members, options.groups), { concurrency: 1 }),
  );
}
