/**
 * Raw RxJS operators on deliveries: each works, or fails the stage with an error that names stage, record and
 * remedy.
 */
import { describe, expect, test } from '@jest/globals';
import {
  bufferCount,
  debounceTime,
  delay,
  filter,
  map,
  mergeMap,
  of,
  range,
  repeat,
  take,
  throwError,
  timer,
} from 'rxjs';
import type { Delivery } from '../../streams/deliveries/delivery.ts';
import { WaitingRecords } from '../../streams/deliveries/family.ts';
import { deliver, setState } from '../../streams/deliveries/settlement.ts';
import { flow, type Part } from '../../streams/flow.ts';
import type { Log } from '../../streams/log.ts';
import { keepIf, mapEach } from '../../streams/primitives.ts';
import { InFlight } from '../../streams/run/inFlight.ts';
import { type FlowStats, type RunOptions, runFlow } from '../../streams/run/runFlow.ts';
import { type Run, source, stage } from '../../streams/stage.ts';
import { type Metric, topics } from '../../topics/index.ts';
import { freshLog } from '../support/freshLog.ts';
import { metric } from '../support/records.ts';

let log: Log;
freshLog((opened) => {
  log = opened;
});

type Deliveries = Run<Metric, unknown>;
const bare = (operator: unknown): Deliveries => operator as Deliveries;
const items = Array.from({ length: 6 }, (_, i) => ({ value: metric({ name: `m${i}` }) }));
const isEven = ({ position }: Delivery<Metric>): boolean => position.offset % 2 === 0;
let stats: FlowStats | null = null;

function running(run: Deliveries, options: Partial<RunOptions> = {}, rest: readonly Part[] = []) {
  const work = stage('work', topics.metrics, null, run);
  const onStats = (now: FlowStats): void => {
    stats = now;
  };
  const given = { log, graceMs: 100, onStats, ...options };
  return runFlow(flow(source('items', topics.metrics, items), work, ...rest), given);
}

const failsWith = (code: string, message: RegExp) => ({
  code: 'STAGE',
  message: expect.stringMatching(new RegExp(`^stage work failed: .*${message.source}`, 's')),
  cause: expect.objectContaining({ code }),
});

describe('a stage that breaks the rules of operators fails with the record and a remedy', () => {
  const cases: readonly (readonly [string, Deliveries, string, RegExp])[] = [
    ['filter on deliveries', filter(isEven), 'LOST', /lost metrics@0\/1 \(key m1\).*keepIf/],
    ['debounceTime', debounceTime(30), 'LOST', /metrics@0\/\d \(key m\d\).*pipeEach/],
    [
      'bufferCount',
      bare(bufferCount(2)),
      'NOT_A_DELIVERY',
      /2 deliveries, the first metrics@0\/0.*gatherBy/,
    ],
    [
      'what bufferCount still holds at the end',
      bare(bufferCount(9)),
      'NOT_A_DELIVERY',
      /array of 6 deliveries/,
    ],
    [
      'map to a bare value',
      bare(map(({ value }: Delivery<Metric>) => value)),
      'NOT_A_DELIVERY',
      /"m0".* at metrics@0\/0 \(key m0\).*mapEach/,
    ],
    [
      'map to a bare value, later',
      bare(mergeMap(() => timer(5).pipe(map(() => 7)))),
      'NOT_A_DELIVERY',
      /bare number \(7\) at metrics@0\/0/,
    ],
    [
      'map to undefined',
      bare(map(() => undefined)),
      'NOT_A_DELIVERY',
      /emitted undefined at metrics@0\/0/,
    ],
    [
      'one delivery twice',
      mergeMap((delivery) => of(delivery, delivery)),
      'SPENT',
      /metrics@0\/0 \(key m0\) is used twice/,
    ],
    [
      'an endless synchronous stream',
      mergeMap((delivery) => of(delivery).pipe(repeat())),
      'SPENT',
      /metrics@0\/0/,
    ],
    [
      'an endless stream of bare values',
      bare(mergeMap(() => range(0, Number.POSITIVE_INFINITY))),
      'NOT_A_DELIVERY',
      /bare number \(0\)/,
    ],
    ['take', take(3), 'ENDED', /completed before its input did.*keepIf/],
  ];
  test.each(cases)('for %s', async (_, run, code, message) => {
    await expect(running(run)).rejects.toMatchObject(failsWith(code, message));
  });

  test('for an error of the operator, even an immediate one, with the line that threw it', async () => {
    const broken = mergeMap(() => throwError(() => new Error('broken operator')));
    await expect(running(broken)).rejects.toMatchObject({
      message: expect.stringMatching(
        /^stage work failed: broken operator \(\/.*Rules\.long\.test\.ts:\d+:\d+\)$/,
      ),
    });
    const unbuildable = (): never => {
      throw new Error('cannot be built');
    };
    await expect(running(unbuildable)).rejects.toMatchObject({
      message: expect.stringMatching(
        /^stage work failed: cannot be built \(\/.*Rules\.long\.test\.ts:\d+/,
      ),
    });
  });

  test('for a delivery of another stage', async () => {
    let stolen: Delivery<Metric> | null = null;
    const thief = stage(
      'thief',
      topics.metrics,
      null,
      (input$: Parameters<Run<Metric, Metric>>[0]) =>
        input$.pipe(
          filter((delivery) => {
            stolen ??= delivery;
            return stolen !== delivery;
          }),
        ),
    );
    const foreign = map((delivery: Delivery<Metric>) => stolen ?? delivery);
    await expect(running(foreign, {}, [thief])).rejects.toMatchObject({ code: 'STAGE' });
    await expect(running(foreign)).rejects.toMatchObject(
      failsWith('FOREIGN_DELIVERY', /another stage or reader/),
    );
  });

  test('in a flow that runs for ever, and in a loop', async () => {
    await expect(running(filter(isEven), { forever: true })).rejects.toMatchObject(
      failsWith('LOST', /metrics@0\/1 \(key m1\), metrics@0\/3 \(key m3\), metrics@0\/5/),
    );
    const back = stage('back', topics.scored, topics.metrics, keepIf(() => false) as never);
    const work = stage('work', topics.metrics, topics.scored, filter(isEven) as never);
    await expect(runFlow(flow(work, back), { log })).rejects.toMatchObject(
      failsWith('LOST', /metrics@0\/1/),
    );
  });
});

describe('a stage that keeps the rules of operators goes on', () => {
  test.each([
    ['while a raw delay holds its deliveries', delay<Delivery<Metric>>(2200)],
    [
      'while a function takes its time',
      mapEach((m: Metric) => new Promise((resolve) => setTimeout(() => resolve(m), 2200)), {
        concurrency: 9,
      }),
    ],
  ] as readonly (readonly [string, Deliveries])[])('%s', async (_, run) => {
    await expect(running(run)).resolves.toBe('quiescent');
    const signal = AbortSignal.timeout(3000);
    const later = stage('later', topics.metrics, null, run);
    await expect(runFlow(flow(later), { log, forever: true, signal })).resolves.toBe('stopped');
    expect(await log.lag(topics.metrics, 'later')).toBe(0);
  });

  test('and shows how long an unfinished record has been in flight', async () => {
    const never = mapEach(() => new Promise(() => undefined), { concurrency: 1 });
    await expect(running(never, { signal: AbortSignal.timeout(300) })).resolves.toBe('stopped');
    expect(stats?.stages[0]).toMatchObject({ inflight: 6, waiting: 0 });
    expect(stats?.stages[0]?.oldestMs).toBeGreaterThan(250);
  });
});

describe('the record of what is in flight', () => {
  const owner = { inflightMax: 9, waiting: new WaitingRecords(), ready: () => undefined };
  const rootAt = (offset: number) => ({
    topic: 'metrics',
    position: { partition: 0, offset },
    key: 'k',
    reader: {},
  });

  test('requests a garbage collection ever more rarely when no one holds a record, and not while one is processed', () => {
    let collections = 0;
    const inFlight = new InFlight(() => {
      collections += 1;
    });
    const root = rootAt(0);
    const delivery = deliver(1, root, owner);
    inFlight.add(root, 0);
    setState(delivery, 'working');
    for (let nowMs = 0; nowMs <= 100_000; nowMs += 200) inFlight.lost(nowMs);
    expect(collections).toBe(0);
    expect(inFlight.works).toBe(true);
    setState(delivery, 'free');
    const at: number[] = [];
    for (let nowMs = 100_000; nowMs <= 400_000; nowMs += 200) {
      const before = collections;
      expect(inFlight.lost(nowMs)).toEqual([]); // somebody holds it
      if (collections > before) at.push((nowMs - 100_000) / 1000);
    }
    expect(at).toEqual([1, 3, 7, 15, 31, 63, 123, 183, 243]);
    expect(inFlight.strays).toEqual(['metrics@0/0 (key k)']);
    expect(inFlight.oldestMs(400_000)).toBe(400_000);
    delivery.drop();
    expect([inFlight.strays, inFlight.oldestMs(400_000)]).toEqual([[], 0]);
  });

  test('has about as many entries as there are records in flight', () => {
    const inFlight = new InFlight();
    for (let offset = 0; offset < 20_000; offset++) {
      const root = rootAt(offset);
      const delivery = deliver(offset, root, owner);
      inFlight.add(root, 0);
      if (offset > 0) delivery.drop();
    }
    expect(inFlight.strays).toEqual(['metrics@0/0 (key k)']);
  });
});
