import { describe, expect, it } from '@jest/globals';
import { reportPage } from '../../cli/report/page.ts';
import { phaseCell, phaseFigures } from '../../cli/report/phases.ts';
import { chooseSamples } from '../../cli/report/samples.ts';
import { type ReportInput, summarise } from '../../cli/report/summary.ts';
import { reportText } from '../../cli/report/text.ts';
import type { BatchKind, Scored } from '../../streams/records.ts';
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
  kinds: new Map([[1, 'policy']]),
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

describe('phases', () => {
  const kinds = new Map<number, BatchKind>([
    [1, 'sft'],
    [2, 'policy'],
    [3, 'policy'],
    [4, 'dpo'],
  ]);
  /** Stage s is right in s of 10 cases. */
  const evaluations = new Map(
    [0, 1, 2, 3, 4].map((stage) => {
      const correct = Array.from({ length: 10 }, (_, i) => (i < stage ? 1 : 0));
      return [stage, timed([group('a', stage, correct, correct)], stage)];
    }),
  );
  const told = (over: Partial<ReportInput> = {}) =>
    summarise({ ...input, kinds, evaluations, ...over });

  it('are the base and each kind of training, measured after its last stage', () => {
    const { phases } = told();
    expect(phases.map(({ name, stage }) => [name, stage])).toEqual([
      ['base', 0],
      ['+ fine-tuning', 1],
      ['+ RL, 2 rounds', 3],
      ['+ preferences', 4],
    ]);
    const accuracy = phaseFigures.find(({ key }) => key === 'accuracy')!;
    expect(phases.map((phase) => phaseCell(phase, accuracy))).toEqual([
      '0.0 %',
      '10.0 % (+10.0 %)',
      '30.0 % (+20.0 %)',
      '40.0 % (+10.0 %)',
    ]);
  });

  it('give the stages their names', () => {
    expect(told().rounds.map(({ name }) => name)).toEqual([
      'fine-tuning',
      'round 1',
      'round 2',
      'preferences',
    ]);
    expect(told({ kinds: new Map() }).rounds.map(({ name }) => name)).toEqual(['1', '2', '3', '4']);
  });

  it('are told in text and on the page where there is more than one kind', () => {
    const text = reportText(told());
    expect(text).toMatch(
      /what each phase added +accuracy .*\nbase +0\.0 % .*\n\+ fine-tuning +10\.0 % \(\+10\.0 %\)/,
    );
    const page = reportPage({
      report: told(),
      input: { ...input, kinds, evaluations },
      samples: [],
    });
    expect(page).toContain('<h2>What each phase added</h2>');
    expect(reportText(summarise(input))).not.toContain('what each phase added');
  });
});

describe('behaviour', () => {
  it('is drawn before and after where the parts are there', () => {
    const parts = { raw: 1, format: 0, resultBlocks: 2, failedResults: 2, thinkingLength: 50 };
    const first = scored({
      question: question('a', 'evaluate', 0),
      rewards: [{ score: 1, parts }],
    });
    const last = { ...first, question: question('a', 'evaluate', 1) };
    const evaluations = new Map([
      [0, timed([first], 0)],
      [1, timed([last], 1)],
    ]);
    const report = summarise({ ...input, evaluations });
    expect(report.behaviour.before).toEqual({
      ...{ correctness: 1, efficiency: 1, conciseness: null },
      ...{ successfulExecution: 1 / 2, reasoningLength: 20 },
    });
    const page = reportPage({ report, input: { ...input, evaluations }, samples: [] });
    expect(page).toContain(
      'before: correctness 100.0, efficiency 100.0, successful execution 50.0',
    );
    expect(reportPage({ report: summarise(input), input, samples: [] })).not.toContain(
      'class="radar"',
    );
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
