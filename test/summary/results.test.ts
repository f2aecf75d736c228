import { describe, expect, it } from '@jest/globals';
import { shareDifference } from '../../operators/metrics/difference.ts';
import { wilsonInterval } from '../../operators/metrics/interval.ts';
import { curvesOf } from '../../summary/curves.ts';
import { RunningTime } from '../../summary/facts/facts.ts';
import { reportPage } from '../../summary/html/reportPage.ts';
import { liveOf } from '../../summary/live.ts';
import { MetricBook } from '../../summary/metricBook.ts';
import { measured, type Reading } from '../../summary/reading.ts';
import { ROUNDS_SHOWN, resultsOf } from '../../summary/results.ts';
import { chooseSamples } from '../../summary/samples.ts';
import type { Summary } from '../../summary/summary.ts';
import { roundsTable } from '../../summary/tables/results.ts';
import { reportText } from '../../summary/text/reportText.ts';
import { TrainingTally } from '../../summary/training.ts';
import type { BatchKind, Metric, Scored } from '../../topics/index.ts';
import { metric, question, reward, scored } from '../cli/support/records.ts';
import { record } from '../cli/support/syntheticRun.ts';

function group(
  id: string,
  round: number,
  correct: readonly number[],
  calls: readonly number[],
): Scored {
  return scored({
    question: question(id, 'evaluate', round),
    rewards: correct.map((raw) => reward(raw, raw > 0 ? 0 : -1)),
    toolCalls: calls,
    lengths: calls.map((n) => 100 * n),
  });
}

const before = [group('a', 0, [1, 0], [2, 4]), group('b', 0, [1, 1], [0, 1])];
const after = [group('a', 1, [1, 1], [1, 1]), group('b', 1, [0, 1], [3, 0])];
const timed = (groups: readonly Scored[], atMs: number) => groups.map((value) => ({ value, atMs }));
const evaluated = (rounds: Readonly<Record<number, readonly Scored[]>>, expected = 2) =>
  new Map(
    Object.entries(rounds).map(([round, groups]) => [
      Number(round),
      measured(timed(groups, 5000 + 20_000 * Number(round)), expected),
    ]),
  );

function bookOf(metrics: readonly Metric[]): MetricBook {
  const book = new MetricBook();
  for (const one of metrics) book.add(one);
  return book;
}

const reading: Reading = {
  run: 'r',
  facts: { ...record, starts: [{ startedMs: 0, endedMs: 30_000 }] },
  evaluations: evaluated({ 0: before, 1: after }),
  metrics: bookOf([
    metric('reward/mean', 1, 1, 0.2, 8000),
    metric('reward/mean', 2, 1, 0.4, 9000),
    metric('eval/accuracy', 2, 1, 0.9, 9000),
  ]),
  training: null,
  kinds: new Map([[1, 'policy']]),
  sources: ['test'],
  seconds: 30,
  deadLetters: 0,
  idle: [],
};

function summaryOf(over: Partial<Reading> = {}): Summary {
  const given = { ...reading, ...over };
  const { facts, run } = given;
  const results = resultsOf(given);
  const live = liveOf({
    run,
    facts,
    nowMs: 0,
    workers: [],
    topics: [],
    policy: null,
    metrics: new Map(),
    generating: null,
  });
  return { facts, results, curves: curvesOf(given, results), samples: [], live };
}

it('of a run without an end, the newest rounds are shown one by one', () => {
  const rounds = Array.from({ length: ROUNDS_SHOWN + 51 }, (_, round) => round);
  const groups = rounds.map((round) => [group('a', round, [1, 0], [2, 4])]);
  const results = resultsOf({ ...reading, evaluations: evaluated({ ...groups }, 1) });
  expect(results.rounds).toHaveLength(ROUNDS_SHOWN + 50);
  const [older, shown] = [results.rounds[49]!, results.rounds[50]!];
  expect([older.accuracy, older.intervals, older.change]).toEqual([0.5, null, null]);
  expect(shown.intervals).not.toBeNull();
  expect(shown.change?.accuracy.difference).toBe(0);
  const { rows } = roundsTable(results);
  expect(rows).toHaveLength(ROUNDS_SHOWN + 2);
  expect(rows[1]).toEqual(['… 50 rounds']);
});

describe('a summary', () => {
  it('measures the first and the last evaluation as the paper does', () => {
    const { before: first, after: last, seconds } = resultsOf(reading);
    expect(first).toMatchObject({
      accuracy: 3 / 4,
      meanToolCalls: 7 / 4,
      meanToolCallsCorrect: 3 / 3,
      efficiency: (1 / 2 + 0 + 1 + 1) / 4,
      formatValid: 3 / 4,
      tokens: 175,
      questions: 2,
    });
    expect(last).toMatchObject({ accuracy: 3 / 4, efficiency: (1 + 1 + 0 + 1) / 4 });
    expect(seconds).toBe(30);
  });

  it('puts training steps and the evaluation after them into one round', () => {
    expect(resultsOf(reading).rounds).toEqual([
      expect.objectContaining({ round: 1, steps: 2, accuracy: 3 / 4, seconds: 20, entropy: null }),
    ]);
    expect(resultsOf(reading).rounds[0]!.reward).toBeCloseTo(0.3);
  });

  it('does not count steps of a fine-tuning that had ended', () => {
    const left = [3, 4].flatMap((step) => [
      metric('step/left_out', step, 1, 1, 9500),
      metric('time/train_ms', step, 1, 0, 9500),
    ]);
    const trained = [1, 2].map((step) => metric('time/train_ms', step, 1, 50, 9000));
    const metrics = bookOf([...trained, ...left]);
    expect(resultsOf({ ...reading, metrics }).rounds).toMatchObject([{ steps: 2 }]);
    const tally = new TrainingTally();
    for (const one of [...trained, ...left]) tally.add(one);
    expect(tally.training).toMatchObject({ steps: 2, seconds: 0.1 });
  });

  it('ignores a partly scored evaluation while the run goes on', () => {
    const half = { ...reading, evaluations: evaluated({ 0: before, 1: after.slice(1) }) };
    const running = resultsOf({ ...half, facts: { ...record, status: 'running' } });
    expect(running.after).toBeNull();
    expect(running.rounds[0]).toMatchObject({ steps: 2, accuracy: null, seconds: null });
    expect(resultsOf(half).after).toMatchObject({ questions: 1 });
  });

  it('is empty for a run without evaluations', () => {
    const nothing = { ...reading, evaluations: new Map(), metrics: new MetricBook() };
    expect(resultsOf(nothing)).toMatchObject({ before: null, after: null, rounds: [] });
    expect(reportText(resultsOf(nothing))).toContain('No results yet');
  });

  it('counts a killed start until its last record', () => {
    const starts = [
      { startedMs: 0, endedMs: null },
      { startedMs: 20_000, endedMs: 31_000 },
    ];
    const running = new RunningTime({ starts });
    for (const atMs of [5000, 9000, 8000, 25_000]) running.seen(atMs);
    expect(running.seconds).toBe(9 + 11);
  });
});

it('tool calls of right answers are not measured if there are none', () => {
  const wrong = (round: number) => [group('a', round, [0, 0], [2, 4])];
  const results = resultsOf({ ...reading, evaluations: evaluated({ 0: wrong(0), 1: after }, 1) });
  expect(reportText(results)).toMatch(/\ncalls when right +– +0\.67\n/);
  expect(reportText(results)).toMatch(
    /\naccuracy +0\.0 % +0–79 +75\.0 % +50–100 +\+75\.0 points\n/,
  );
});

describe('phases', () => {
  const kinds = new Map<number, BatchKind>([
    [1, 'sft'],
    [2, 'policy'],
    [3, 'policy'],
    [4, 'dpo'],
  ]);
  /** Round s is right in s of 10 cases. */
  const evaluations = new Map(
    [0, 1, 2, 3, 4].map((round) => {
      const correct = Array.from({ length: 10 }, (_, i) => (i < round ? 1 : 0));
      return [round, measured(timed([group('a', round, correct, correct)], round), 1)];
    }),
  );
  const results = (over: Partial<Reading> = {}) =>
    resultsOf({ ...reading, kinds, evaluations, ...over });

  it('are the base and each kind of training, measured after its last round', () => {
    const { phases } = results();
    expect(phases.map(({ name, round }) => [name, round])).toEqual([
      ['base', 0],
      ['+ fine-tuning', 1],
      ['+ RL, 2 rounds', 3],
      ['+ preferences', 4],
    ]);
  });

  it('give the rounds their names', () => {
    expect(results().rounds.map(({ name }) => name)).toEqual([
      'fine-tuning',
      'round 1',
      'round 2',
      'preferences',
    ]);
    expect(results({ kinds: new Map() }).rounds.map(({ name }) => name)).toEqual([
      '1',
      '2',
      '3',
      '4',
    ]);
  });

  it('are one table with the rounds, and what several rounds changed together is below it', () => {
    const text = reportText(results());
    expect(text).toMatch(
      /round +steps +reward +accuracy +change .*\nbefore +0\.0 % .*\nfine-tuning .* 10\.0 % +\+10\.0 /,
    );
    expect(text).toMatch(/\nRL, 2 rounds together: accuracy \+20\.0 points, tool calls \+0\.20, /);
    expect(text).not.toMatch(/fine-tuning together/);
    const page = reportPage(summaryOf({ kinds, evaluations }));
    expect(page).toContain('RL, 2 rounds together: accuracy +20.0 points');
    expect(page.match(/<th class="right">accuracy<\/th>/g)).toHaveLength(1);
    expect(reportText(resultsOf(reading))).not.toContain('together');
  });
});

describe('behaviour', () => {
  it('is drawn before and after if its parts are there', () => {
    const parts = { raw: 1, format: 0, resultBlocks: 2, failedResults: 2, thinkingLength: 50 };
    const first = scored({
      question: question('a', 'evaluate', 0),
      rewards: [{ score: 1, parts }],
    });
    const last = { ...first, question: question('a', 'evaluate', 1) };
    const evaluations = evaluated({ 0: [first], 1: [last] }, 1);
    const report = resultsOf({ ...reading, evaluations });
    expect(report.behaviour.before).toEqual({
      correctness: 1,
      efficiency: 1,
      conciseness: null,
      successfulExecution: 1 / 2,
      reasoningLength: 20,
    });
    const page = reportPage(summaryOf({ evaluations }));
    expect(page).toMatch(/successful execution<.*<b>50\.0 %<\/b>/);
    expect(page).not.toContain('class="radar"');
    expect(reportPage(summaryOf())).not.toContain('successful execution');
  });
});

describe('the uncertainty of results', () => {
  const known = (round: number) => [one('a', round, 1), one('b', round, 1), one('c', round, round)];
  const one = (id: string, round: number, correct: number) => group(id, round, [correct], [1]);
  const results = resultsOf({
    ...reading,
    evaluations: evaluated({ 0: known(0), 1: known(1) }, 3),
  });

  it('is given for every figure and every change, in JSON and in the table', () => {
    expect(results.before!.intervals.accuracy).toEqual(wilsonInterval(2 / 3, 3));
    expect(results.after!.intervals.accuracy).toEqual(wilsonInterval(1, 3));
    const { difference, interval } = results.change!.accuracy;
    expect(difference).toBeCloseTo(1 / 3);
    expect(interval).toEqual(
      shareDifference({ before: [1, 1, 0], after: [1, 1, 1] }, { seed: record.seed }),
    );
    expect(results.rounds[0]!.change).toEqual(results.change);
    expect(reportText(results)).toMatch(
      /accuracy +66\.7 % +21–94 +100\.0 % +44–100 +\+33\.3 points/,
    );
  });

  it('is given for calls when right too, if anything was right', () => {
    const groups = (round: number, right: number) =>
      Array.from({ length: 8 }, (_, i) =>
        group(`q${i}`, round, [1, i < right ? 1 : 0], [i % 3, round === 0 ? 6 : 2]),
      );
    const told = (before: Scored[], after: Scored[]) =>
      resultsOf({ ...reading, evaluations: evaluated({ 0: before, 1: after }, 8) });
    const results = told(groups(0, 4), groups(1, 4));
    const { low, high } = results.before!.intervals.meanToolCallsCorrect!;
    const { meanToolCallsCorrect } = results.before!;
    expect([low < meanToolCallsCorrect, meanToolCallsCorrect < high]).toEqual([true, true]);
    const { difference, interval } = results.change!.meanToolCallsCorrect!;
    expect(difference).toBeCloseTo((4 * (2 - 6)) / 12);
    expect([interval.low < difference, interval.high]).toEqual([true, expect.any(Number)]);
    expect(interval.high).toBeLessThan(0);
    expect(reportText(results)).toMatch(
      /calls when right +2\.58 +\d\.\d–\d\.\d +1\.25 +\d\.\d–\d\.\d +−1\.33/,
    );
    const wrong = groups(0, 0).map((one) => ({
      ...one,
      rewards: one.rewards.map(() => reward(0, 0)),
    }));
    const none = told(wrong, groups(1, 4));
    expect(none.before!.intervals.meanToolCallsCorrect).toBeNull();
    expect(none.change!.meanToolCallsCorrect).toBeNull();
  });

  it('is left out if the two did not ask the same questions', () => {
    const evaluations = evaluated({ 0: known(0), 1: known(1).slice(1) });
    const unlike = resultsOf({ ...reading, evaluations });
    expect(unlike.change).toBeNull();
    expect(unlike.after).not.toBeNull();
  });

  it('colours a significant change', () => {
    expect(reportPage(summaryOf())).not.toContain('<td class="good">');
    const many = (round: number) =>
      Array.from({ length: 40 }, (_, i) => one(`q${i}`, round, round === 0 ? i % 2 : 1));
    const page = reportPage(summaryOf({ evaluations: evaluated({ 0: many(0), 1: many(1) }, 40) }));
    expect(page).toContain('<td class="good">+50.0 points</td>');
  });
});

it('the sampling is shown next to the accuracy', () => {
  const settings = { temperature: 0.6, topP: 0.95 };
  const drawn = (over: object) => summaryOf({ facts: { ...record, settings: over as never } });
  const asked = '2 held-out questions · 2 rollouts each · temperature 0.6, top-p 0.95';
  expect(reportText(drawn(settings).results)).toContain(asked);
  expect(reportPage(drawn(settings))).toContain(asked);
  expect(drawn(settings).results.sampling).toMatchObject({ temperature: 0.6, topP: 0.95, topK: 0 });
  expect(reportText(drawn({ temperature: 0 }).results)).toContain('· greedy');
});

describe('a run without held-out questions', () => {
  const tally = new TrainingTally();
  const step = (n: number, loss: number, over: Readonly<Record<string, number>> = {}) => {
    const numbers = {
      examples: 16,
      loss,
      lr: n / 1000,
      ...over,
      'thr/train_tok_s': 500,
      'time/train_ms': 2000,
    };
    for (const [name, value] of Object.entries(numbers)) tally.add(metric(name, n, 1, value));
  };
  tally.add(metric('heldout/loss', 0, 0, 3));
  step(1, 2.5);
  step(2, 0.5);
  step(3, 0.75, { 'heldout/loss': 1.25 });
  const over = { evaluations: new Map(), training: tally.training };

  it('is described by losses, learning rate, steps and tokens', () => {
    const results = resultsOf({ ...reading, ...over });
    expect(results.training).toEqual({
      steps: 3,
      tokens: 3000,
      seconds: 6,
      examples: 48,
      loss: { first: 2.5, last: 0.75, lowest: 0.5, lowestStep: 2, highest: 2.5 },
      learningRate: { first: 0.001, last: 0.003, lowest: 0.001, lowestStep: 1, highest: 0.003 },
      heldOutLoss: { first: 3, last: 1.25, lowest: 1.25, lowestStep: 3, highest: 3 },
    });
    const text = reportText(results);
    expect(text).toContain('3 steps · 3,000 tokens trained · 48 examples · 6.0 s in the trainer');
    expect(text).toMatch(/\nloss +2\.5000 +0\.7500 +0\.5000 +2\.5000\n/);
    expect(text).toMatch(/\nheld-out loss +3\.0000 +1\.2500 /);
    expect(text).not.toContain('No results yet');
    expect(reportPage(summaryOf(over))).toMatch(
      /<h2>Training<\/h2>.*<td class="right">2\.5000<\/td>/s,
    );
  });
});

it('constant curves are named and not drawn, and those without a value are left out', () => {
  const book = bookOf(
    [1, 2, 3].flatMap((step) => [
      metric('reward/mean', step, 1, step),
      metric('policy/lag', step, 1, 0),
    ]),
  );
  const page = reportPage(summaryOf({ metrics: book }));
  expect(page).toContain('did not change: Policy lag (versions): 0');
  expect(page).toContain('aria-label="Reward by step"');
  expect(page).not.toContain('aria-label="Policy lag');
  expect(page).toContain('aria-label="Accuracy by step"');
  expect(page).not.toContain('no data yet');
});

it('the loss is shown as what is learnt if nothing is rewarded, and else under stability', () => {
  const about = (...names: string[]) => {
    const metrics = bookOf(names.map((name) => metric(name, 1, 1, 0.5)));
    const { curves } = curvesOf({ ...reading, metrics }, resultsOf({ ...reading, metrics }));
    return curves.filter(({ title }) => title === 'Loss').map((curve) => curve.about);
  };
  expect(about('loss')).toEqual(['learning']);
  expect(about('loss', 'reward/mean')).toEqual(['stability']);
});

it('times are in the tense that fits the state of the run', () => {
  const head = (status: 'running' | 'done' | 'failed') =>
    reportText(resultsOf({ ...reading, facts: { ...record, status } })).split('\n')[0];
  expect(head('running')).toContain('running for 30.0 s');
  expect(head('done')).toContain('done in 30.0 s');
  expect(head('failed')).toContain('failed after 30.0 s');
  expect(reportPage(summaryOf({ facts: { ...record, status: 'done' } }))).not.toContain('running');
});

describe('sample questions', () => {
  const choose = (first: readonly Scored[], last: readonly Scored[]) =>
    chooseSamples({ ...reading, evaluations: evaluated({ 0: first, 1: last }) }).map(
      ({ why, questionId }) => [questionId, why],
    );
  const one = (id: string, round: number, correct: number, calls: number) =>
    group(id, round, [correct], [calls]);

  it('show what became right, what needs fewer calls, and what became wrong', () => {
    const first = [one('d', 0, 1, 1), one('c', 0, 1, 2), one('b', 0, 1, 5), one('a', 0, 0, 2)];
    const last = [one('a', 1, 1, 2), one('b', 1, 1, 1), one('c', 1, 1, 1), one('d', 1, 0, 1)];
    expect(choose(first, last)).toEqual([
      ['a', 'became right'],
      ['b', 'right with fewer tool calls'],
      ['d', 'became wrong'],
    ]);
  });

  it('are three even if nothing was learned, and all different', () => {
    const stay = (round: number) => ['a', 'b', 'c', 'd'].map((id) => one(id, round, 0, 1));
    const chosen = choose(stay(0), stay(1));
    expect(new Set(chosen.map(([id]) => id)).size).toBe(3);
  });

  it('are absent before the first evaluation after training', () => {
    expect(chooseSamples({ ...reading, evaluations: evaluated({ 0: before }) })).toEqual([]);
  });
});
