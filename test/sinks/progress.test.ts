import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { concat, from, NEVER } from 'rxjs';
import { type ProgressOptions, progress } from '../../sinks/progress.ts';
import type { Metric } from '../../streams/records.ts';
import { topics } from '../../streams/topics.ts';
import { fakeReader, runOperator } from '../../testing/runOperator.ts';
import { metric } from '../support/records.ts';

const numbers = (over: Partial<Metric>, values: Readonly<Record<string, number>>): Metric[] =>
  Object.entries(values).map(([name, value]) => metric({ name, value, ...over }));

const step = (value: number): Metric[] =>
  numbers(
    { step: 12, stage: 2 },
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
const evaluation = (stage: number): Metric[] =>
  numbers(
    { step: 12, stage },
    {
      'eval/accuracy': 0.5,
      'eval/tools_mean': 1.5,
      'eval/tools_mean_correct': 1.25,
      'eval/efficiency': 0.375,
      'eval/format_valid': 0.875,
      'eval/questions': 150,
    },
  );

function bench(): { readonly lines: string[]; readonly options: ProgressOptions } {
  const lines: string[] = [];
  return {
    lines,
    options: {
      stages: ['the base policy', 'fine-tuning', 'round 1'],
      pulse: () => ({ inflight: 4, generatedTokens: 99, version: 7 }),
      print: (line) => void lines.push(line),
    },
  };
}

describe('progress', () => {
  let terminal: boolean;
  beforeEach(() => {
    terminal = process.stderr.isTTY;
    process.stderr.isTTY = false;
  });
  afterEach(() => {
    process.stderr.isTTY = terminal;
    jest.useRealTimers();
  });

  test('prints a line a step and a line an evaluation', async () => {
    const { lines, options } = bench();
    const values = [...evaluation(0), ...step(1), ...step(2), ...evaluation(2)];
    const run = await runOperator(progress(options), topics.metrics, values);
    expect(run).toMatchObject({ outputs: [], unsettled: 0, sideRecords: {} });
    const stepLine =
      'round 1 · step 12 · reward 0.500 · accuracy 63 % · tool calls 1.75 · entropy 0.250 · lag 0.0 · 1234 tok/s out · 568 tok/s trained';
    const numbersOf =
      '150 held-out questions · accuracy 50 % · tool calls 1.50 · 1.25 when correct · efficiency 38 % · valid 88 %';
    expect(lines).toEqual([
      `the base policy · ${numbersOf}`,
      stepLine,
      stepLine,
      `after round 1 · ${numbersOf}`,
    ]);
  });

  test('says now and then what is in flight while nothing else happens, and stops when it is left', () => {
    jest.useFakeTimers();
    const { lines, options } = bench();
    const reader = fakeReader(topics.metrics);
    const source$ = concat(from(step(1).map((value) => reader.deliver(value))), NEVER);
    const subscription = source$.pipe(progress(options)).subscribe();
    expect(lines).toHaveLength(1);
    jest.advanceTimersByTime(31_000);
    expect(lines.slice(1)).toEqual([
      'policy 7 · 4 groups in flight · 99 tokens generated',
      'policy 7 · 4 groups in flight · 99 tokens generated',
    ]);
    subscription.unsubscribe();
    expect(jest.getTimerCount()).toBe(0);
  });

  test('shows what it has of a step that lacks a number, and nothing of the step before', async () => {
    const { lines, options } = bench();
    const fineTuning = numbers(
      { step: 13, stage: 1 },
      { examples: 16, loss: 0.5, 'time/train_ms': 1 },
    );
    await runOperator(progress(options), topics.metrics, [...step(1), ...fineTuning]);
    expect(lines[1]).toBe('fine-tuning · step 13 · 16 examples · loss 0.5000');
  });
});
