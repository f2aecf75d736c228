import { describe, expect, test } from '@jest/globals';
import type { Delivery } from '../../streams/deliveries/delivery.ts';
import { WaitingRecords } from '../../streams/deliveries/family.ts';
import { deliver, emit, gather, setState } from '../../streams/deliveries/settlement.ts';
import { fakeReader } from '../../testing/runOperator.ts';
import { type Metric, topics } from '../../topics/index.ts';
import { metric } from '../support/records.ts';

const reader = () => fakeReader(topics.metrics);
const named = (name: string) => metric({ name });

type MetricDelivery = Delivery<Metric>;

describe('a delivery', () => {
  test('knows the position of its original, however often it was derived', () => {
    const r = reader();
    r.deliver(named('a'));
    const delivery = r.deliver(named('b')).derive('x').also(topics.metrics, named('side'));
    expect(delivery).toMatchObject({
      value: 'x',
      topic: 'metrics',
      key: 'b',
      position: { partition: 0, offset: 1 },
    });
  });

  test('may be used once', () => {
    const uses = [
      (d: MetricDelivery) => d.derive(1),
      (d: MetricDelivery) => d.split([1]),
      (d: MetricDelivery) => d.also(topics.metrics, named('x')),
      (d: MetricDelivery) => d.drop(),
      (d: MetricDelivery) => emit(d, null),
      (d: MetricDelivery) => gather([d], 1),
    ];
    for (const first of uses) {
      for (const second of uses) {
        const delivery = reader().deliver(named('a'));
        first(delivery);
        expect(() => second(delivery)).toThrow(expect.objectContaining({ code: 'SPENT' }));
      }
    }
  });
});

describe('deliveries of one original', () => {
  test('settle when the last leaves or is dropped, with all writes in order', () => {
    const r = reader();
    const parts = r.deliver(named('a')).also(topics.metrics, named('side')).split(['x', 'y', 'z']);
    emit(parts[2]!.derive(named('z')), topics.metrics);
    emit(parts[0]!.derive(named('x')), topics.metrics);
    expect(r.commits).toEqual([]);
    parts[1]!.also(topics.deadLetters, { reason: 'y' } as never).drop();
    expect(r.commits).toHaveLength(1);
    expect(r.commits[0]!.settled).toEqual([0]);
    expect(r.commits[0]!.writes.map(({ value }) => value)).toEqual([
      named('z'),
      named('side'),
      named('x'),
      { reason: 'y' },
    ]);
  });

  test('settle in one commit with all originals that they are gathered with', () => {
    const r = reader();
    const [a0, a1] = r.deliver(named('a')).split([0, 1]);
    const [b0, b1] = r.deliver(named('b')).split([0, 1]);
    const c = r.deliver(named('c'));
    emit(gather([a0!, b0!, c.derive(0)], named('abc')), topics.metrics);
    a1!.drop();
    expect(r.commits).toEqual([]);
    emit(b1!, null);
    expect(r.commits.map(({ settled }) => settled)).toEqual([[0, 1, 2]]);
  });

  test('may be gathered again', () => {
    const r = reader();
    const parts = r.deliver(named('a')).split([0, 1, 2]);
    emit(gather(parts, 3), null);
    expect(r.commits.map(({ settled }) => settled)).toEqual([[0]]);
  });

  test('cannot be gathered from nothing', () => {
    expect(() => gather([], 0)).toThrow(/at least one/);
  });
});

test('an original is notified when everything left of it waits in open groups, and when that ends', () => {
  const told: string[] = [];
  const owner = { inflightMax: 9, waiting: new WaitingRecords(), ready: () => undefined };
  const root = (offset: number) => ({
    topic: 'metrics',
    position: { partition: 0, offset },
    key: '',
    reader: {},
    onWaiting: (waits: boolean) => void told.push(`${offset} ${waits ? 'waits' : 'goes on'}`),
  });
  const [first, second] = [0, 1].map((offset) => deliver(metric(), root(offset), owner));
  const [part, rest] = first!.split([1, 2]);
  setState(part!, 'waiting');
  expect(told).toEqual([]); // the other part is under way
  emit(rest!, topics.metrics);
  expect(told).toEqual(['0 waits']);
  setState(part!, 'free');
  gather<unknown, number>([part!, second!], 3).drop();
  expect(told).toEqual(['0 waits', '0 goes on']);
  expect(owner.waiting.total).toBe(0);
});
