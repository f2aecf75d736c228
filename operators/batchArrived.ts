/**
 * `batchArrived`: scored groups in, the schedule of one optimiser step out, in order of arrival: for groups
 * without a place in a plan. Which groups make a step, and in which order, is the record.
 */
import { defer, type OperatorFunction } from 'rxjs';
import type { Delivery } from '../streams/deliveries/index.ts';
import { gatherCount, keepIf, mapEach } from '../streams/index.ts';
import { type Batch, type Scored, stepRecord } from '../topics/index.ts';
import { withPosition } from './withPosition.ts';

export interface BatchArrivedOptions {
  /** Groups per step. */
  readonly groups: number;
  /** Whether a group can be trained on; the others take no place in a step. */
  readonly teaches: (group: Scored) => Promise<boolean>;
  /** The newest step in the topic; 0 = none. */
  readonly newest: () => number;
}

/** scored → batches, all in one endless round. */
export function batchArrived({
  groups,
  teaches,
  newest,
}: BatchArrivedOptions): OperatorFunction<Delivery<Scored>, Delivery<Batch>> {
  return (scored$) =>
    defer(() => {
      let last = 0;
      return scored$.pipe(
        keepIf<Scored>(teaches, { concurrency: 1, onError: 'fail' }),
        withPosition<Scored>(),
        gatherCount(groups),
        mapEach(
          (taken): Batch => {
            const version = Math.max(last, newest());
            last = version + 1;
            const members = taken.map(({ value, position: scored }) => ({
              questionId: value.question.id,
              scored,
            }));
            return {
              ...stepRecord(1, version, { index: version, of: 0 }),
              ...{ kind: 'policy', groups: members, examples: [], heldOut: [] },
            };
          },
          { concurrency: 1 },
        ),
      );
    });
}
