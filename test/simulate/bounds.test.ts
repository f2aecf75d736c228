import { setMaxListeners } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { Bounds } from '../../simulate/world/bounds.ts';
import { Life } from '../../simulate/world/life.ts';
import { VirtualClock } from '../../simulate/world/virtualClock.ts';
import type { Delivery } from '../../streams/deliveries/index.ts';
import { MemoryStore } from '../../streams/memory/index.ts';
import type { FlowStats } from '../../streams/run/index.ts';

function process() {
  const clock = new VirtualClock(1, 0);
  const life = new Life({
    ...{ name: 'lead', clock, aheadMs: () => 0, stillUntilMs: () => 0, passed: () => undefined },
  });
  const store = new MemoryStore();
  const found: string[] = [];
  const bounds = new Bounds({ life, store, weighs: true, broken: (what) => found.push(what) });
  return { life, store, bounds, found };
}

function stats(inflight: number, waiting: number): FlowStats {
  const stage = { name: 'score', inflight, inflightMax: 2, waiting };
  return { atMs: 0, sources: [], stages: [stage] } as unknown as FlowStats;
}

describe('a process that holds more than it may is told of:', () => {
  test('a stage with too many records in flight, or in open groups', () => {
    const { bounds, found } = process();
    bounds.told(stats(2, 2));
    expect(found).toEqual([]);
    bounds.told(stats(3, 0));
    bounds.told(stats(0, 1));
    expect(found).toEqual([
      'lead: score has 3 records in flight, and may have 2',
      'lead: 1 records of score wait in groups, and 0 are in flight',
    ]);
  });

  test('listeners on the end of the run that are more than the records in flight', () => {
    const { bounds, found } = process();
    const stopping = new AbortController();
    setMaxListeners(0, stopping.signal);
    bounds.stopsBy(stopping.signal);
    for (let i = 0; i < 18; i++) stopping.signal.addEventListener('abort', () => i);
    bounds.told(stats(2, 0));
    expect(found).toEqual([]);
    bounds.told(stats(1, 0));
    expect(found).toEqual(['lead: 18 listen for the end of the run, and 1 records are in flight']);
  });

  test('timers and listeners that are left at its end', () => {
    const { life, bounds, found } = process();
    const stopping = new AbortController();
    bounds.stopsBy(stopping.signal);
    bounds.ended();
    expect(found).toEqual([]);
    void life.clock.sleep(1_000, new AbortController().signal);
    // A step of the trainer goes on: no one can call it off.
    void life.clock.sleep(1_000);
    stopping.signal.addEventListener('abort', () => undefined);
    bounds.ended();
    expect(found).toEqual([
      'lead: 1 timers or readers are left at its end',
      'lead: 1 still listen for the end of the run at its end',
    ]);
  });

  test('records that are settled and can still be reached', async () => {
    const { store, bounds, found } = process();
    const kept: object[] = [];
    for (let offset = 0; offset < 40; offset++) {
      const value = { offset };
      if (offset < 10) kept.push(value);
      bounds.handed('rollouts', 'score', {
        ...{ position: { partition: 0, offset }, value },
      } as Delivery<unknown>);
    }
    // What a job has only just made is kept until it ends.
    await new Promise((resolve) => setImmediate(resolve));
    const settle = (low: number): Promise<void> =>
      store.write((writes) => writes.putProgress('rollouts', 'score', { low, above: [] }));
    await settle(8);
    bounds.told(stats(0, 0));
    await settle(40);
    await new Promise((resolve) => setImmediate(resolve));
    bounds.told(stats(0, 0));
    // A variable of the loop may still name the last one.
    expect(found.join()).toMatch(
      /^lead: score holds 1[01] records of rollouts that it has settled$/,
    );
    expect(kept.length).toBe(10);
  });
});
