import { describe, expect, it } from '@jest/globals';
import type { WorkerStatus } from '../../streams/run/workerStatus.ts';
import { type Look, liveOf } from '../../summary/live.ts';
import { liveLines } from '../../summary/text/liveText.ts';
import { TokenMeter } from '../../summary/tokenMeter.ts';
import { statusesIn, Workers } from '../../summary/workers.ts';
import { record } from '../cli/support/syntheticRun.ts';
import { rollout } from '../support/records.ts';

const stage = (over: object = {}) => ({
  name: 'rollout',
  from: 'questions',
  to: 'rollouts',
  in: 0,
  out: 0,
  settled: 0,
  inflight: 0,
  inflightMax: 64,
  waiting: 0,
  oldestMs: 0,
  idleMs: 0,
  fullMs: 0,
  busyMs: 0,
  blockedMs: 0,
  pacedMs: 0,
  commitMs: 0,
  ...over,
});

function status(over: Partial<WorkerStatus> = {}): WorkerStatus {
  return {
    worker: 'main',
    host: 'here',
    pid: 7,
    startedMs: 0,
    atMs: 10_000,
    memoryBytes: 3 * 2 ** 20,
    ended: false,
    sources: [],
    stages: [stage()],
    ...over,
  };
}

function look(workers: Workers, said: readonly WorkerStatus[], over: Partial<Look> = {}): Look {
  return {
    run: 'first',
    facts: { ...record, status: 'running' },
    nowMs: 12_000,
    topics: [],
    policy: null,
    metrics: new Map(),
    generating: null,
    workers: workers.update(said),
    ...over,
  };
}

const rowsOf = (given: Look) => liveOf(given).stages;

it('a paused or killed run is described in words, with what to do', () => {
  const running = {
    ...record,
    status: 'running',
    starts: [{ startedMs: 0, endedMs: null }],
  } as const;
  const headOf = (over: Partial<Look>): readonly string[] =>
    liveLines(liveOf(look(new Workers(), [status()], { facts: running, ...over }))).slice(0, 2);
  expect(headOf({ paused: true })).toEqual([
    'first · synthetic · paused · 12.0 s',
    'paused: starts nothing new; resume with millrace resume first',
  ]);
  expect(headOf({ nowMs: 60_000 })).toEqual([
    'first · synthetic · silent · 1 min 0 s',
    'no process is reporting: it was probably killed; resume with millrace run --run first',
  ]);
});

describe('the rates of a stage', () => {
  it('cover the time since its process last reported, or at first its whole life', () => {
    const workers = new Workers();
    const first = status({ stages: [stage({ in: 100, out: 50, idleMs: 5_000 })] });
    expect(rowsOf(look(workers, [first]))).toMatchObject([
      { inPerSecond: 10, outPerSecond: 5, waits: 0.5, in: 100 },
    ]);
    const second = status({
      atMs: 12_000,
      stages: [stage({ in: 104, out: 50, idleMs: 5_000, fullMs: 1_500, commitMs: 100 })],
    });
    const expected = { inPerSecond: 2, outPerSecond: 0, waits: 0, full: 0.75, commits: 0.05 };
    expect(rowsOf(look(workers, [second]))).toMatchObject([expected]);
    // The same words again say nothing new.
    expect(rowsOf(look(workers, [second]))).toMatchObject([expected]);
  });

  it('start over with a restarted process', () => {
    const workers = new Workers();
    workers.update([status({ stages: [stage({ in: 100 })] })]);
    const anew = status({ startedMs: 11_000, atMs: 12_000, stages: [stage({ in: 3 })] });
    expect(rowsOf(look(workers, [anew]))).toMatchObject([{ inPerSecond: 3 }]);
  });

  it('of several processes are one row of sums and means', () => {
    const busy = stage({ in: 100, inflight: 60, fullMs: 10_000 });
    const idle = stage({ in: 20, inflight: 1, idleMs: 10_000 });
    const said = [
      status({ worker: 'a', stages: [busy] }),
      status({ worker: 'b', pid: 8, stages: [idle, stage({ name: 'score' })] }),
    ];
    expect(rowsOf(look(new Workers(), said))).toMatchObject([
      { name: 'rollout', inPerSecond: 12, inflight: 61, inflightMax: 128, full: 0.5, waits: 0.5 },
      { name: 'score' },
    ]);
  });

  it('leave out processes that are gone, unless all are', () => {
    const gone = status({ worker: 'a', atMs: 2_000, stages: [stage({ in: 100, inflight: 9 })] });
    const here = status({ worker: 'b', pid: 8, stages: [stage({ in: 20 })] });
    expect(rowsOf(look(new Workers(), [gone, here]))).toMatchObject([{ in: 20, inflight: 0 }]);
    expect(rowsOf(look(new Workers(), [gone]))).toMatchObject([{ in: 100, inPerSecond: 50 }]);
  });

  it('come with the lag of its group, where an unknown group has settled nothing', () => {
    const topic = { topic: 'questions', records: 30, bytes: 1 };
    const lagOf = (lag: Readonly<Record<string, number>>) =>
      rowsOf(look(new Workers(), [status()], { topics: [{ ...topic, lag }] }))[0]!.lag;
    expect([lagOf({ rollout: 4 }), lagOf({ other: 4 })]).toEqual([4, 30]);
  });
});

it('a foreign status is ignored', () => {
  const said = [null, 'x', { worker: 'a' }, { ...status(), stages: [{}] }, status()];
  expect(statusesIn(said)).toEqual([status()]);
});

describe('the text of a live run', () => {
  it('says where the run is, which processes work, and what every part does', () => {
    const workers = new Workers();
    const said = status({
      sources: [
        { name: 'csv', to: 'questions', items: 70, dropped: 0, done: false, waitMs: 9_000 },
      ],
      stages: [stage({ in: 123, out: 50, inflight: 64, waiting: 3, fullMs: 9_900 })],
    });
    const lines = liveLines(
      liveOf(
        look(workers, [said], {
          facts: { ...record, status: 'running', starts: [{ startedMs: 0, endedMs: null }] },
          policy: { version: 4, step: 4 },
          metrics: new Map([['reward/mean', 0.25]]),
          generating: 1234,
          topics: [{ topic: 'dead-letters', records: 2, bytes: 1, lag: {} }],
        }),
      ),
    );
    expect(lines).toEqual([
      'first · synthetic · live · 12.0 s',
      'version 4 · step 4 · reward 0.250 · generated 1234 tok/s · dead letters 2',
      'main · process 7 on here · memory 3.0 MiB',
      '',
      'stage    reads         in/s  out/s  in flight  groups  lag  waits  full  commits',
      'csv      (source, 70)            7                                 90 %',
      'rollout  questions       12      5      64/64       3    0    0 %  99 %      0 %',
    ]);
  });

  it('names a record that takes unusually long, and what a source has dropped', () => {
    const notes = (over: object, dropped = 0): string[] => {
      const source = { name: 'ticks', to: 'questions', items: 9, done: false, waitMs: 0 };
      const said = status({
        startedMs: -990_000, // 1,000 s ago
        sources: [{ ...source, dropped }],
        stages: [stage(over)],
      });
      const lines = liveLines(liveOf(look(new Workers(), [said])));
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
      return lines.slice(lines.findIndex((line) => line.startsWith('main')) + 1, lines.indexOf(''));
    };
    // 1,000 settled in the 500 s that were not idle, 4 in work: 2 s each.
    const usual = { settled: 1_000, inflight: 7, waiting: 3, idleMs: 500_000 };
    expect(notes({ ...usual, oldestMs: 19_999 })).toEqual([]);
    expect(notes({ ...usual, oldestMs: 20_000 })).toEqual([
      'rollout: one record has been in progress for 20.0 s, usually 2.0 s',
    ]);
    expect(notes({ ...usual, settled: 1_000_000, oldestMs: 9_999 })).toEqual([]);
    expect(notes({ inflight: 1, oldestMs: 59_999 })).toEqual([]);
    expect(notes({ inflight: 1, oldestMs: 61_000 }, 12)).toEqual([
      'rollout: one record has been in progress for 1 min 1 s',
      'ticks: dropped 12 items for lack of room',
    ]);
  });

  it('shows the oldest record of several processes, by what is usual in its own', () => {
    const quick = stage({ settled: 100, inflight: 1, oldestMs: 50 });
    const stuck = stage({ settled: 50, inflight: 2, oldestMs: 9_000 });
    const said = [
      status({ worker: 'a', stages: [quick] }),
      status({ worker: 'b', pid: 8, stages: [stuck] }),
    ];
    expect(rowsOf(look(new Workers(), said))).toMatchObject([{ oldestMs: 9_000, usualMs: 400 }]);
  });

  it('gives no rate for a finished run', () => {
    const ended = { facts: record, generating: 0 };
    const lines = liveLines(liveOf(look(new Workers(), [status({ ended: true })], ended)));
    expect(lines.join('\n')).not.toContain('tok/s');
  });

  it('fits 80 columns by dropping details and breaking long lines', () => {
    const names = ['evolve', 'filter', 'lessons', 'trainer', 'rollout', 'practice'];
    const stages = names.map((name) => stage({ name, from: 'demonstrations', inflightMax: 576 }));
    const metrics = new Map([
      ['reward/mean', 0.5],
      ['policy/lag', 0],
      ['thr/train_tok_s', 9290],
    ]);
    const policy = { version: 57, step: 57 };
    const live = liveOf(
      look(new Workers(), [status({ stages })], { metrics, policy, generating: 5000 }),
    );
    const widest = (lines: readonly string[]) => Math.max(...lines.map((line) => line.length));
    const narrow = liveLines(live, { columns: 79 });
    expect(widest(narrow)).toBeLessThanOrEqual(79);
    expect(narrow.join('\n')).toMatch(/\nstage .* in flight .* waits +full/);
    expect(narrow.join('\n')).not.toContain('demonstrations');
    expect(narrow.join('\n')).toContain('trained 9290 tok/s');
    expect(liveLines(live).join('\n')).toContain('demonstrations');
    for (const columns of [79, 100, 119]) {
      expect(widest(liveLines(live, { columns }))).toBeLessThanOrEqual(columns);
    }
  });

  it('colours the state and the bottleneck if colour is requested', () => {
    const said = [status({ stages: [stage({ fullMs: 10_000 }), stage({ name: 'score' })] })];
    const live = liveOf(look(new Workers(), said));
    const lines = liveLines(live, { colour: true });
    expect(lines[0]).toContain('\u001b[36mlive\u001b[39m');
    expect(lines.find((line) => line.includes('rollout'))).toContain('\u001b[33mrollout');
    expect(lines.find((line) => line.startsWith('score'))).toBeDefined();
    expect(liveLines(live).join('')).not.toContain('\u001b');
  });

  it('shows that a process is silent or has ended', () => {
    const line = (over: Partial<WorkerStatus>): string =>
      liveLines(liveOf(look(new Workers(), [status(over)], { nowMs: 50_000 }))).find((text) =>
        text.startsWith('main'),
      )!;
    expect(line({})).toMatch(/silent for 40\.0 s$/);
    expect(line({ ended: true })).toMatch(/ended$/);
  });

  it('names few of many processes, and what is known if none has reported', () => {
    const many = Array.from({ length: 40 }, (_, pid) => status({ pid }));
    const lines = liveLines(liveOf(look(new Workers(), many)));
    expect(lines.filter((text) => text.startsWith('main'))).toHaveLength(16);
    expect(lines).toContain('… 24 more processes');
    expect(liveLines(liveOf(look(new Workers(), []))).at(-1)).toMatch(/millrace topics/);
  });
});

describe('the token meter', () => {
  it('counts the tokens of the policy in the last half minute', () => {
    const meter = new TokenMeter();
    const segment = { start: 0, end: 60, version: 0, entropy: null, tool: null };
    const segments = [
      { ...segment, kind: 'policy' as const },
      { ...segment, kind: 'tool' as const, start: 60, end: 900 },
    ];
    for (let second = 0; second < 100; second++) meter.add(rollout({ segments }), 1000 * second);
    expect(meter.perSecond(99_999)).toBe(60);
    expect(meter.perSecond(114_999)).toBe(30);
    expect(meter.perSecond(200_000)).toBe(0);
  });
});
