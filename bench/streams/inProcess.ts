/**
 * What settlement costs inside a process: our one-to-one and gathering primitives on deliveries compared with
 * bare RxJS doing the same to plain values. No log on either side; ours also counts and settles every record.
 */
import assert from 'node:assert/strict';
import { bufferCount, from, lastValueFrom, map, mergeMap, type Observable, tap } from 'rxjs';
import type { Delivery } from '../../streams/deliveries/delivery.ts';
import { type DeliveryOwner, WaitingRecords } from '../../streams/deliveries/family.ts';
import { deliver, emit, settlementOf } from '../../streams/deliveries/settlement.ts';
import { gatherCount, mapEach } from '../../streams/primitives.ts';
import { type Row, recordsPerSecond, timeMs } from '../table.ts';

/** Few enough that RxJS's own queue, which takes longer the longer it is, does not count. */
const RECORDS = 10_000;
const TURNS = 15;
const CONCURRENCY = 64;
const GROUP = 8;

const values = Array.from({ length: RECORDS }, (_, i) => i);

async function ours(run: (source$: Observable<Delivery<number>>) => Observable<Delivery<unknown>>) {
  let settled = 0;
  const owner: DeliveryOwner = {
    inflightMax: RECORDS,
    waiting: new WaitingRecords(),
    ready: (delivery) => {
      settled += settlementOf([delivery]).roots.length;
    },
  };
  const reader = {};
  const deliveries$ = from(values).pipe(
    map((value) => {
      const position = { partition: 0, offset: value };
      return deliver(value, { topic: 'numbers', position, key: '', reader }, owner);
    }),
  );
  await lastValueFrom(run(deliveries$).pipe(tap((delivery) => emit(delivery, null))));
  assert.equal(settled, RECORDS);
}

const bare = (run: (source$: Observable<number>) => Observable<unknown>): Promise<unknown> =>
  lastValueFrom(run(from(values)));

export async function inProcessRows(): Promise<Row[]> {
  const later = async (value: number): Promise<number> => value + 1;
  return [
    await row(
      'one to one',
      'bare RxJS, map',
      () => ours((source$) => source$.pipe(mapEach((value) => value + 1, { concurrency: 1 }))),
      () => bare((source$) => source$.pipe(map((value) => value + 1))),
    ),
    await row(
      `one to one, asynchronous, ${CONCURRENCY} at once`,
      'bare RxJS, mergeMap',
      () => ours((source$) => source$.pipe(mapEach(later, { concurrency: CONCURRENCY }))),
      () => bare((source$) => source$.pipe(mergeMap(later, CONCURRENCY))),
    ),
    await row(
      `groups of ${GROUP}`,
      'bare RxJS, bufferCount',
      () => ours((source$) => source$.pipe(gatherCount<number>(GROUP))),
      () => bare((source$) => source$.pipe(bufferCount(GROUP))),
    ),
  ];
}

async function row(
  what: string,
  against: string,
  our: () => Promise<unknown>,
  their: () => Promise<unknown>,
): Promise<Row> {
  const [mine, theirs]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < TURNS; turn++) {
    mine.push(await timeMs(our));
    theirs.push(await timeMs(their));
  }
  return recordsPerSecond({ what, against }, RECORDS, mine, theirs);
}
