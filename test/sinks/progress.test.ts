import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { concat, from, NEVER } from 'rxjs';
import type {
  ProgressEvent,
  ProgressScreen,
  ProgressStatus,
  ProgressWarning,
} from '../../sinks/progress/events.ts';
import { leftText } from '../../sinks/progress/lines.ts';
import { Measuring } from '../../sinks/progress/measuring.ts';
import { ProgressTracker } from '../../sinks/progress/tracker.ts';
import { type ProgressOptions, progress } from '../../sinks/progress.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { fakeReader, runOperator } from '../../testing/runOperator.ts';
import { type Metric, topics } from '../../topics/index.ts';
import { metric } from '../support/records.ts';

const numbers = (over: Partial<Metric>, values: Readonly<Record<string, number>>): Metric[] =>
  Object.entries(values).map(([name, value]) => metric({ name, value, ...over }));

const step = (value: number): Metric[] =>
  numbers(
    { step: 12, round: 2 },
    {
      'reward/mean': 0.5,
      'accuracy/mean': 0.625,
      'tools/mean': 1.75,
      'entropy/mean': 0.25,
      'policy/lag': 0,
      'thr/gen_tok_s': 1234.4,
      'thr/train_tok_s': 567.8,
      'time/train_ms': value,
    },
  );
const evaluation = (round: number): Metric[] =>
  numbers(
    { step: 12, round },
    {
      'eval/accuracy': 0.5,
      'eval/tools_mean': 1.5,
      'eval/tools_mean_correct': 1.25,
      'eval/efficiency': 0.375,
      'eval/format_valid': 0.875,
      'eval/questions': 150,
    },
  );

function bench(over: Partial<ProgressOptions> = {}): {
  readonly lines: string[];
  readonly options: ProgressOptions;
} {
  const lines: string[] = [];
  return {
    lines,
    options: {
      rounds: ['the base policy', 'fine-tuning', 'round 1'],
      sampling: 'temperature 1',
      clock: manualClock(0),
      pulse: () => ({ inflight: 4, generatedTokens: 99, version: 7 }),
      print: (line) => void lines.push(line),
      ...over,
    },
  };
}

/** A screen that keeps what it is shown. */
function keeping() {
  const events: ProgressEvent[] = [];
  const statuses: ProgressStatus[] = [];
  const warnings: ProgressWarning[] = [];
  let closed = 0;
  const screen: ProgressScreen = {
    event: (event) => void events.push(event),
    warning: (warning) => void warnings.push(warning),
    status: (status) => void statuses.push(status),
    close: () => {
      closed += 1;
    },
  };
  return { screen, events, statuses, warnings, closed: () => closed };
}

const stepLine =
  'round 1 · step 12 · reward 0.500 · accuracy 63 % · tool calls 1.75 · entropy 0.250 · 1234 tok/s out · 568 tok/s trained';
const numbersOf =
  '150 held-out questions · temperature 1 · accuracy 50 % · tool calls 1.50 · 1.25 when right · efficiency 38 % · valid format 88 %';

describe('progress as lines', () => {
  afterEach(() => void jest.useRealTimers());

  test('has a line for each evaluation, with the sampling, and a line for each step', async () => {
    const { lines, options } = bench();
    const values = [...evaluation(0), ...step(1), ...evaluation(2)];
    const run = await runOperator(progress(options), topics.metrics, values);
    expect(run).toMatchObject({ outputs: [], unsettled: 0, sideRecords: {} });
    expect(lines).toEqual([
      `the base policy · ${numbersOf}`,
      stepLine,
      `after round 1 · ${numbersOf}`,
    ]);
  });

  test('leaves out steps that follow within ten seconds, except for the first and the last of a round', async () => {
    const { lines, options } = bench();
    const at = (round: number, n: number, seconds: number) =>
      numbers({ round, step: n, atMs: 1000 * seconds }, { loss: n, 'time/train_ms': 1 });
    const values = [
      at(1, 1, 0),
      at(1, 2, 1),
      at(1, 3, 9.9),
      at(1, 4, 10),
      at(2, 5, 11),
      at(2, 6, 12),
    ];
    const last = numbers(
      { round: 2, step: 7, atMs: 13_000 },
      { 'round/share': 1, 'time/train_ms': 1 },
    );
    await runOperator(progress(options), topics.metrics, [...values.flat(), ...last]);
    expect(lines.map((line) => / step (\d)/.exec(line)![1])).toEqual(['1', '4', '5', '7']);
  });

  test('reports from time to time what is in flight while nothing else happens, until it is closed', () => {
    jest.useFakeTimers();
    const { lines, options } = bench();
    const reader = fakeReader(topics.metrics);
    const source$ = concat(from(step(1).map((value) => reader.deliver(value))), NEVER);
    const subscription = source$.pipe(progress(options)).subscribe();
    expect(lines).toHaveLength(1);
    jest.advanceTimersByTime(61_000);
    expect(lines.slice(1)).toEqual([
      'policy 7 · 4 groups in flight · 99 tokens generated',
      'policy 7 · 4 groups in flight · 99 tokens generated',
    ]);
    subscription.unsubscribe();
    expect(jest.getTimerCount()).toBe(0);
  });

  test('says that the policy is being loaded', () => {
    jest.useFakeTimers();
    const pulse = () => ({ inflight: 0, generatedTokens: 0, version: -1 });
    const { lines, options } = bench({ pulse });
    const reader = fakeReader(topics.metrics);
    const source$ = concat(from(step(1).map((value) => reader.deliver(value))), NEVER);
    const subscription = source$.pipe(progress(options)).subscribe();
    jest.advanceTimersByTime(61_000);
    expect(lines[1]).toBe('loading the policy');
    subscription.unsubscribe();
  });

  test('shows an incomplete step without numbers of the step before', async () => {
    const { lines, options } = bench();
    const fineTuning = numbers(
      { step: 13, round: 1 },
      { examples: 16, loss: 0.5, 'time/train_ms': 1 },
    );
    await runOperator(progress(options), topics.metrics, [...step(1), ...fineTuning]);
    expect(lines[1]).toBe('fine-tuning · step 13 · 16 examples · loss 0.5000');
  });

  test('warns of steps that teach nothing, once for each reason', async () => {
    const { lines, options } = bench();
    const at = (step: number, of: Readonly<Record<string, number>>) =>
      numbers({ step, round: 1 }, { ...of, 'time/train_ms': 1 });
    const uniform = { 'reward/mean': 1, 'accuracy/mean': 0, 'groups/uniform': 1 };
    const steps = [
      at(1, { examples: 0, 'examples/dropped': 5 }),
      at(2, { examples: 0, 'examples/dropped': 5 }),
      ...[3, 4, 5, 6, 7].map((step) => at(step, uniform)),
      at(8, { ...uniform, 'groups/uniform': 0.5 }),
      ...[9, 10, 11].map((step) => at(step, uniform)),
    ];
    await runOperator(progress(options), topics.metrics, steps.flat());
    const warnings = lines.filter((line) => line.startsWith('warning: '));
    expect(warnings).toEqual([
      'warning: step 1 taught the policy nothing: there were no examples (5 examples left out as too long or without anything to learn); see tokensMax',
      expect.stringMatching(
        /^warning: steps 3 to 5 taught the policy nothing: all rollouts of a question got the same reward \(mean 1\.000\).*no answer was right: use easier/,
      ),
    ]);
  });

  test('advises commands with the name of the run', async () => {
    const { lines, options } = bench();
    const empty = numbers({ step: 1, round: 1 }, { examples: 0, 'time/train_ms': 1 });
    await runOperator(progress({ ...options, run: 'mine' }), topics.metrics, empty);
    expect(lines).toContainEqual(expect.stringContaining('tap mine.demonstrations mine.pairs'));
  });

  test('omits the calls of right answers if nothing was right', async () => {
    const { lines, options } = bench();
    const nothing = numbers(
      { round: 0 },
      { 'eval/accuracy': 0, 'eval/tools_mean_correct': 0, 'eval/questions': 8 },
    );
    await runOperator(progress(options), topics.metrics, nothing);
    expect(lines[0]).toContain('accuracy 0 % · – when right');
  });
});

describe('progress on a terminal', () => {
  afterEach(() => void jest.useRealTimers());

  test('gets events with all numbers, the status once a second, and a final close', () => {
    jest.useFakeTimers();
    const { screen, events, statuses, closed } = keeping();
    const { lines, options } = bench({ screen, steps: 24 });
    const reader = fakeReader(topics.metrics);
    const source$ = concat(from(step(1).map((value) => reader.deliver(value))), NEVER);
    const subscription = source$.pipe(progress(options)).subscribe();
    expect(events).toMatchObject([
      {
        kind: 'step',
        round: 2,
        roundName: 'round 1',
        step: 12,
        steps: 24,
        sampling: 'temperature 1',
      },
    ]);
    expect(events[0]!.numbers).toMatchObject({ 'reward/mean': 0.5, 'thr/gen_tok_s': 1234.4 });
    jest.advanceTimersByTime(2000);
    expect(statuses).toHaveLength(2);
    expect(statuses[1]).toMatchObject({ step: 12, steps: 24, share: 0.5, reward: 0.5 });
    subscription.unsubscribe();
    expect(closed()).toBe(1);
    expect(lines).toEqual([]);
  });
});

test('a terminal is given warnings as data', async () => {
  const { screen, warnings } = keeping();
  const none = numbers({ step: 4, round: 2, atMs: 9 }, { examples: 0, 'time/train_ms': 1 });
  await runOperator(progress(bench({ screen }).options), topics.metrics, none);
  expect(warnings).toEqual([
    { round: 2, step: 4, atMs: 9, text: expect.stringContaining('there were no examples') },
  ]);
});

describe('the progress of a run', () => {
  const pulse = { inflight: 0, generatedTokens: 0, version: 0 };
  const event = (kind: ProgressEvent['kind'], round: number, share: number, atMs: number) => ({
    kind,
    round,
    atMs,
    roundName: '',
    step: 1,
    steps: null,
    sampling: '',
    numbers: { 'round/share': share },
  });
  const tracked = (...events: ProgressEvent[]) => {
    const tracker = new ProgressTracker({ rounds: ['base', 'a', 'b'], weights: [1, 1, 2] });
    for (const one of events) tracker.add(one);
    return (nowMs: number) => tracker.status(pulse, nowMs);
  };

  test('is what its rounds weigh, and the place in the round under way', () => {
    expect(tracked()(0)).toMatchObject({ share: 0, round: 0, roundName: 'base', leftMs: null });
    expect(tracked(event('evaluation', 0, 0, 0))(0)).toMatchObject({ share: 1 / 4, round: 1 });
    expect(tracked(event('step', 2, 0.5, 0))(0)).toMatchObject({ share: 3 / 4, round: 2 });
    // an evaluation of a round may come when the next one has begun
    const late = tracked(event('step', 2, 0.5, 0), event('evaluation', 1, 0, 1));
    expect(late(1).share).toBe(3 / 4);
    expect(tracked(event('evaluation', 2, 0, 0))(0)).toMatchObject({ share: 1, round: 2 });
  });

  test('estimates the time left by the work since the last start', () => {
    const half = tracked(event('evaluation', 0, 0, 5000), event('step', 1, 1, 15_000));
    // a quarter took ten seconds, and a half is left
    expect(half(15_000).leftMs).toBe(20_000);
    expect(half(18_000).leftMs).toBe(17_000);
    expect(half(99_000).leftMs).toBe(0);
    expect(tracked(event('step', 1, 0.5, 0))(9).leftMs).toBeNull();
  });

  test('reports the recent rate of tokens', () => {
    const tracker = new ProgressTracker({ rounds: ['base'] });
    const at = (seconds: number, generatedTokens: number) =>
      tracker.status({ ...pulse, generatedTokens }, 1000 * seconds).generatedPerSecond;
    expect(at(0, 0)).toBeNull();
    expect(at(1, 500)).toBe(500);
    for (let i = 2; i < 30; i++) at(i, 500);
    expect(at(30, 500)).toBe(0);
  });
});

test.each([
  [null, ''],
  [59_000, 'under a minute left'],
  [90_000, 'about 2 min left'],
  [3 * 3_600_000, 'about 3.0 h left'],
])('the time left of %p ms reads %p', (leftMs, text) => {
  expect(leftText(leftMs)).toBe(text);
});

describe('an evaluation that is under way', () => {
  const tracker = () =>
    new ProgressTracker({ rounds: ['the base policy', 'round 1'], weights: [100, 300] });
  const during = (measuring: Measuring) => ({
    ...{ inflight: 1, generatedTokens: 0, version: 0, measuring: measuring.now },
  });

  test('is counted by its scored questions; the first one from its first question', () => {
    const measuring = new Measuring(3);
    expect(measuring.now).toBeNull();
    // Questions of later rounds are asked when their policy is there.
    measuring.asked(1);
    expect(measuring.now).toBeNull();
    measuring.asked(0);
    expect(measuring.now).toEqual({ round: 0, done: 0, of: 3 });
    for (const round of [0, 1, 0]) measuring.scored(round);
    expect(measuring.now).toEqual({ round: 0, done: 2, of: 3 });
    measuring.scored(0);
    expect(measuring.now).toEqual({ round: 1, done: 1, of: 3 });
    for (const round of [1, 1]) measuring.scored(round);
    expect(measuring.now).toBeNull();
  });

  test('is called what it measures, and the first one is a part of the work', () => {
    const measuring = new Measuring(4);
    for (let i = 0; i < 2; i++) measuring.scored(0);
    const first = tracker().status(during(measuring), 0);
    expect(first.measuring).toMatchObject({ name: 'the base policy', done: 2, of: 4 });
    expect(first.share).toBe(0.125);
    for (const round of [0, 0, 1]) measuring.scored(round);
    const second = tracker().status(during(measuring), 0);
    expect(second.measuring).toMatchObject({ name: 'after round 1', done: 1, of: 4 });
    expect(second.share).toBe(0);
    expect(tracker().status('loading', 0).measuring).toBeNull();
  });
});
