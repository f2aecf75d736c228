/**
 * Deliveries without a log: a fake owner that records each would-be commit.
 *
 * `runOperator(operator, values)` is the short way to test a domain operator: what came out, which side
 * records came with it, what was settled, what was lost.
 */
import { from, lastValueFrom, type Observable, toArray } from 'rxjs';
import {
  type Delivery,
  type DeliveryOwner,
  deliver,
  emit,
  neverStopping,
  type SideRecord,
  settlementOf,
  WaitingRecords,
} from '../streams/deliveries/index.ts';
import type { Run, Topic } from '../streams/index.ts';

/** One commit as the log would have made it. */
export interface FakeCommit {
  /** Offsets of the originals. */
  readonly settled: readonly number[];
  readonly writes: readonly { readonly topic: string; readonly value: unknown }[];
}

/** A reader without a log: makes deliveries and keeps the commits that settle them. */
export interface FakeReader<In> {
  readonly commits: FakeCommit[];
  readonly owner: DeliveryOwner;
  /** A delivery of `value` at the next offset. */
  deliver(value: In): Delivery<In>;
  /** How many deliveries were handed out and not settled. */
  unsettled(): number;
}

/**
 * Delivers values as records of `topic` and commits at once whatever becomes due. `stopping` = the run stops.
 */
export function fakeReader<In>(
  topic: Topic<In>,
  inflightMax = 1_000_000,
  stopping = neverStopping,
): FakeReader<In> {
  const commits: FakeCommit[] = [];
  let next = 0;
  const reader = {};
  const owner: DeliveryOwner = {
    inflightMax,
    stopping,
    waiting: new WaitingRecords(),
    ready(delivery) {
      const { roots, writes } = settlementOf([delivery]);
      const write = ({ topic: to, value }: SideRecord) => ({ topic: to.name, value });
      commits.push({
        settled: roots.map((root) => root.position.offset),
        writes: writes.map(write),
      });
    },
  };
  return {
    commits,
    owner,
    deliver(value) {
      const position = { partition: 0, offset: next++ };
      return deliver(value, { topic: topic.name, position, key: topic.key(value), reader }, owner);
    },
    unsettled: () => next - commits.reduce((sum, commit) => sum + commit.settled.length, 0),
  };
}

/** What an operator did with its input. */
export interface OperatorRun<Out> {
  /** Values that left the operator, in order. */
  readonly outputs: readonly Out[];
  /** Side records by topic name, in order of commit. */
  readonly sideRecords: Readonly<Record<string, readonly unknown[]>>;
  readonly commits: readonly FakeCommit[];
  /** Deliveries that were neither settled nor dropped: must be 0. */
  readonly unsettled: number;
}

/** Runs the operator over a finite input to its completion; outputs are committed to no topic. */
export async function runOperator<In, Out>(
  operator: Run<In, Out>,
  topic: Topic<In>,
  values: readonly In[],
): Promise<OperatorRun<Out>> {
  const reader = fakeReader(topic);
  const source$: Observable<Delivery<In>> = from(values.map((value) => reader.deliver(value)));
  const deliveries = await lastValueFrom(source$.pipe(operator, toArray()));
  for (const delivery of deliveries) emit(delivery, null);
  const sideRecords: Record<string, unknown[]> = {};
  for (const { topic: name, value } of reader.commits.flatMap((commit) => commit.writes)) {
    sideRecords[name] ??= [];
    sideRecords[name].push(value);
  }
  return {
    outputs: deliveries.map((delivery) => delivery.value),
    sideRecords,
    commits: reader.commits,
    unsettled: reader.unsettled(),
  };
}
