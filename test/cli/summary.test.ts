import { describe, expect, it } from '@jest/globals';
import { chooseSamples } from '../../cli/report/samples.ts';
import { type ReportInput, summarise } from '../../cli/report/summary.ts';
import type { Scored } from '../../streams/records.ts';
import { metric, question, reward, scored } from './support/records.ts';
import { record } from './support/syntheticRun.ts';

function group(
  id: string,
  stage: number,
  correct: readonly number[],
  calls: readonly number[],
): Scored {
  return scored({
    question: question(id, 'evaluate', stage),
    rewards: correct.map((raw) => reward(raw, raw > 0 ? 0 : -1)),
    toolCalls: calls,
    lengths: calls.map((n) => 100 * n),
  });
}

const before = [group('a', 0, [1, 0], [2, 4]), group('b', 0, [1, 1], [0, 1])];
const after = [group('a', 1, [1, 1], [1, 1]), group('b', 1, [0, 1], [3, 0])];
const timed = (groups: readonly Scored[], atMs: number) => groups.map((value) => ({ value, atMs }));

const input: ReportInput = {
  run: 'r',
  record: { ...record, starts: [{ startedMs: 0, endedMs: 30_000 }] },
  expected: new Map([
    [0, 2],
    [1, 2],
  ]),
  evaluations: new Map([
    [0, timed(before, 5000)],
    [1, timed(after, 25_000)],
  ]),
  metrics: [
    metric('reward/mean', 1, 1, 0.2, 8000),
    metric('reward/mean', 2, 1, 0.4, 9000),
    metric('eval/accuracy', 2, 1, 0.9, 9000),
  ],
  deadLetters: 0,
};

describe('a summary', () => {
  it('measures the first and the last evaluation as the paper does', () => {
    const { before: first, after: last, seconds } = summarise(input);
    expect(first).toEqual({
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
    expect(summarise(input).rounds).toEqual([
      expect.objectContaining({ round: 1, steps: 2, accuracy: 3 / 4, seconds: 20, entropy: null }),
    ]);
    expect(summarise(input).rounds[0]!.reward).toBeCloseTo(0.3);
  });

  it('does not count an evaluation that is half scored while the run goes on', () => {
    const half = {
      ...input,
      evaluations: new Map([...input.evaluations, [1, timed(after.slice(1), 25_000)]]),
    };
    const running = summarise({ ...half, record: { ...record, status: 'running' } });
    expect(running.after).toBeNull();
    expect(running.rounds[0]).toMatchObject({ steps: 2, accuracy: null, seconds: null });
    expect(summarise(half).after).toMatchObject({ questions: 1 });
  });

  it('has nothing to say of a run that has not begun to measure', () => {
    const nothing = { ...input, evaluations: new Map(), metrics: [] };
    expect(summarise(nothing)).toMatchObject({ before: null, after: null, rounds: [] });
  });

  it('counts a start that was killed until its last record', () => {
    const starts = [
      { startedMs: 0, endedMs: null },
      { startedMs: 20_000, endedMs: 31_000 },
    ];
    expect(summarise({ ...input, record: { ...record, starts } }).seconds).toBe(9 + 11);
  });
});

describe('samples', () => {
  const choose = (first: readonly Scored[], last: readonly Scored[]) =>
    chooseSamples({
      ...input,
      evaluations: new Map([
        [0, timed(first, 0)],
        [1, timed(last, 1)],
      ]),
    }).map(({ why, questionId }) => [questionId, why]);
  const one = (id: string, stage: number, correct: number, calls: number) =>
    group(id, stage, [correct], [calls]);

  it('show what became right, what needs fewer calls, and what became wrong', () => {
    const first = [one('d', 0, 1, 1), one('c', 0, 1, 2), one('b', 0, 1, 5), one('a', 0, 0, 2)];
    const last = [one('a', 1, 1, 2), one('b', 1, 1, 1), one('c', 1, 1, 1), one('d', 1, 0, 1)];
    expect(choose(first, last)).toEqual([
      ['a', 'became right'],
      ['b', 'right with fewer tool calls'],
      ['d', 'became wrong'],
    ]);
  });

  it('are three also where nothing was learned, and never one question twice', () => {
    const stay = (stage: number) => ['a', 'b', 'c', 'd'].map((id) => one(id, stage, 0, 1));
    const chosen = choose(stay(0), stay(1));
    expect(new Set(chosen.map(([id]) => id)).size).toBe(3);
  });

  it('are none before the first evaluation after training', () => {
    expect(chooseSamples({ ...input, evaluations: new Map([[0, timed(before, 0)]]) })).toEqual([]);
  });
});
