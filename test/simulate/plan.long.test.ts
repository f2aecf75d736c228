import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Cluster, clusterSettings } from '../../simulate/plan/cluster.ts';
import { decoding, type Timed } from '../../simulate/plan/decoding.ts';
import { type Planned, plannedRun } from '../../simulate/plan/plannedRun.ts';
import { drawnSamples, recordedSamples, type Sample } from '../../simulate/plan/samples.ts';
import { Servers } from '../../simulate/plan/servers.ts';
import { planText } from '../../simulate/plan/text.ts';
import { VirtualClock } from '../../simulate/world/virtualClock.ts';

describe('servers', () => {
  const servers = clusterSettings.shape.servers.parse({
    gpus: 1,
    tokensPerSecond: [
      [1, 100],
      [3, 180],
    ],
    requestsMax: 2,
  });

  test('share their speed among the requests that they have, and the others wait', async () => {
    const clock = new VirtualClock(1, 0);
    const ends: string[] = [];
    const pool = new Servers({
      ...{ timer: clock, servers, count: 1, faster: 1, changed: () => undefined },
    });
    const asks = async (name: string, tokens: number): Promise<void> => {
      await pool.generate(tokens);
      ends.push(`${name}@${Math.round(clock.now())}`);
    };
    // Two at once make 140 tokens/s, one 100. The third waits for a place.
    void asks('a', 70);
    void asks('b', 140);
    void asks('c', 10);
    await clock.run(() => ends.length === 3);
    expect(ends).toEqual(['a@1000', 'c@1143', 'b@1743']);
  });
});

describe('the times of an engine', () => {
  test('are found from when rollouts began and ended, though they call tools in between', async () => {
    const [at0, slope] = [10, 0.5];
    const tokensPerSecond = Array.from({ length: 7 }, (_, i): [number, number] => [
      2 ** i,
      (1000 * 2 ** i) / (at0 + slope * 2 ** i),
    ]);
    const servers = clusterSettings.shape.servers.parse({ gpus: 1, tokensPerSecond });
    const clock = new VirtualClock(1, 0);
    const timer = { ...{ timer: clock, servers, count: 1, faster: 1 }, changed: () => undefined };
    const pool = new Servers(timer);
    const samples = drawnSamples(
      clusterOf({
        rollout: { tokens: 100, spread: 0.5, calls: 1, resultTokens: 10 },
        tools: { seconds: 0.5, spread: 0.6 },
      }),
      1,
    );
    const rolled: Timed[] = [];
    const roll = async (id: string): Promise<void> => {
      const { turns } = samples(id);
      const startMs = clock.now();
      for (const { tokens, call } of turns) {
        await pool.generate(tokens);
        await clock.sleep(1000 * (call?.seconds ?? 0));
      }
      rolled.push({ startMs, endMs: clock.now(), turns });
    };
    // As with lagMax 0: all begin at once, and the next ones when the last has ended.
    const steps = async (): Promise<void> => {
      for (let step = 0; step < 6; step++) {
        await Promise.all(Array.from({ length: 32 }, (_, i) => roll(`${step}/explore-1/${i}`)));
      }
    };
    let ended = false;
    void steps().then(() => {
      ended = true;
    });
    await clock.run(() => ended);
    const found = decoding(rolled);
    expect(found.at0 / at0).toBeCloseTo(1, 1);
    expect((found.at0 + 32 * found.slope) / (at0 + 32 * slope)).toBeCloseTo(1, 1);
  });
});

test('recorded groups are dealt in an order that is drawn, none twice before all were', () => {
  const groups = Array.from({ length: 10 }, (_, i): Sample[] => [
    { promptTokens: i, turns: [{ tokens: 1, call: null }] },
  ]);
  const dealt = (seed: number, from: number): number[] => {
    const samples = recordedSamples(groups, seed);
    const ids = Array.from({ length: 10 }, (_, i) => `q${from + i}/explore-1/3`);
    return ids.map((id) => samples(id).promptTokens);
  };
  const all = groups.map((_, i) => i);
  expect(dealt(1, 0).toSorted((a, b) => a - b)).toEqual(all);
  expect(dealt(1, 10).toSorted((a, b) => a - b)).toEqual(all);
  expect(dealt(1, 0)).toEqual(dealt(1, 0));
  for (const other of [all, dealt(1, 10), dealt(2, 0)]) expect(dealt(1, 0)).not.toEqual(other);
});

const base = {
  servers: {
    gpus: 2,
    tokensPerSecond: [
      [1, 100],
      [16, 1600],
    ],
  },
  trainer: { gpus: 1, tokensPerSecond: 4000 },
  rollout: { promptTokens: 100, tokens: 200, spread: 0, calls: 1, resultTokens: 100 },
  tools: { seconds: 0.5, spread: 0, coreSeconds: 0 },
  job: { rollouts: 4, batchGroups: 8, concurrency: 32, lagMax: 0 },
  leader: { coreSeconds: 0, tokensPerSecond: 1e9 },
  log: { commitSeconds: 0.001 },
};

function clusterOf(
  change: {
    readonly [Group in keyof Cluster]?: Partial<Cluster[Group]>;
  },
): Cluster {
  const groups = { ...base } as Record<string, object>;
  for (const [name, group] of Object.entries(change)) groups[name] = { ...groups[name], ...group };
  return clusterSettings.parse(groups);
}

function planned(cluster: Cluster, steps = 6): Promise<Planned> {
  return plannedRun({ cluster, samples: drawnSamples(cluster, 1), seed: 1, steps });
}

describe('a plan', () => {
  let onPolicy: Planned;
  beforeAll(async () => {
    onPolicy = await planned(clusterOf({}));
  });

  test('of a slow trainer that is never waited for takes as long as its tokens', async () => {
    const slow = clusterOf({ trainer: { tokensPerSecond: 500 }, job: { lagMax: 2 } });
    const { stepSeconds, trained, idle, bottleneck, lag } = await planned(slow);
    expect(trained / 500).toBeCloseTo(1, 1);
    expect(idle.trainer).toBeLessThan(0.05);
    expect(bottleneck).toBe('training');
    expect(lag.length).toBeLessThanOrEqual(3);
    expect(stepSeconds).toBeGreaterThan(onPolicy.stepSeconds);
  });

  test('trains on what it generates, with the prompts and the results of tools', async () => {
    const { stepSeconds, trained, rolloutsASecond, generated } = onPolicy;
    const perRollout = (trained * stepSeconds) / (8 * 4);
    // 100 of the prompt, 200 of the policy, 100 of the only call, on average.
    expect(perRollout).toBeGreaterThan(370);
    expect(perRollout).toBeLessThan(430);
    expect(generated / rolloutsASecond).toBeGreaterThan(180);
    expect(generated / rolloutsASecond).toBeLessThan(230);
  });

  test('with lagMax 0 generates and trains in turns, and all rollouts are of the newest version', () => {
    const { time, lag, idle } = onPolicy;
    expect(lag).toEqual([1]);
    expect(time['training and generating']).toBe(0);
    expect(idle.trainer + idle.servers).toBeGreaterThan(1);
  });

  test('with a lag is faster, and no rollout lags more than it may', async () => {
    const { stepSeconds, lag, time } = await planned(clusterOf({ job: { lagMax: 1 } }));
    expect(stepSeconds).toBeLessThan(onPolicy.stepSeconds);
    expect(lag.length).toBeLessThanOrEqual(2);
    expect(time['training and generating'] + time.training).toBeGreaterThan(0);
  });

  test('names what holds the job back', async () => {
    const of = async (change: Parameters<typeof clusterOf>[0]): Promise<string> =>
      (await planned(clusterOf({ job: { lagMax: 1 }, ...change }), 4)).bottleneck;
    expect(await of({ tools: { seconds: 60 } })).toBe('waiting for tools');
    expect(
      await of({
        servers: {
          gpus: 2,
          tokensPerSecond: [
            [1, 5],
            [4, 10],
          ],
        },
      }),
    ).toBe('generation');
    expect(await of({ leader: { tokensPerSecond: 500 } })).toBe('the leader');
    expect(await of({ weights: { gigabytes: 400 } })).toBe('loading weights');
    expect(await of({ job: { lagMax: 1, workers: 1, concurrency: 1 } })).toBe(
      'too few rollouts in flight',
    );
  });

  test('is the same whenever it is made again, and of a large cluster a part is simulated', async () => {
    expect(await planned(clusterOf({}))).toEqual(onPolicy);
    const times = 64;
    const large = clusterOf({
      servers: { gpus: 2 * times },
      trainer: { gpus: times },
      job: { batchGroups: 8 * times, concurrency: 32 * times },
    });
    const { oneIn, stepSeconds, rolloutsASecond } = await planned(large, 3);
    expect(oneIn).toBe(4);
    expect(stepSeconds / onPolicy.stepSeconds).toBeCloseTo(1, 0);
    expect(rolloutsASecond / onPolicy.rolloutsASecond / times).toBeCloseTo(1, 0);
  });

  test('is shown as a table, with the steps a day of several as bars', () => {
    const text = planText([
      { name: '2 + 1', lagMax: 0, planned: onPolicy },
      { name: '4 + 2', lagMax: 1, planned: { ...onPolicy, stepsADay: onPolicy.stepsADay / 2 } },
    ]);
    expect(text).toMatch(/^ +2 \+ 1 +4 \+ 2\nlagMax +0 +1\na step +\S+ s/);
    expect(text).toMatch(/2 \+ 1 +lagMax 0 +\S+ +█{40}\n4 \+ 2 +lagMax 1 +\S+ +█{20}\n/);
  });
});
