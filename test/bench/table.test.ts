import { describe, expect, test } from '@jest/globals';
import { median, type Row, report, slope } from '../../bench/table.ts';

function row(over: Partial<Row>): Row {
  const plain: Row = {
    what: 'ours',
    against: 'theirs',
    ratio: 3,
    goal: null,
    unit: 'ms',
    ours: 2,
    theirs: 6,
  };
  return { ...plain, ...over };
}

const lastLine = (over: Partial<Row>): string | undefined =>
  report('x', [row(over)], false)
    .trimEnd()
    .split('\n')
    .at(-1);

describe('a report', () => {
  test('says whether a goal is met, from below and from above, and nothing without a goal', () => {
    expect(lastLine({ goal: 3 })).toMatch(/3 {2,}>= 3 {2,}met$/);
    expect(lastLine({ goal: 4 })).toMatch(/>= 4 {2,}MISSED$/);
    expect(lastLine({ goal: 4, atMost: true })).toMatch(/<= 4 {2,}met$/);
    expect(lastLine({ goal: 2, atMost: true })).toMatch(/<= 2 {2,}MISSED$/);
    expect(lastLine({})).toMatch(/-$/);
  });

  test('keeps three digits of small numbers and thousands in full', () => {
    expect(lastLine({ ours: 0.0123456, theirs: 12_345.6 })).toMatch(/0\.0123 ms {2,}12,346 ms/);
  });

  test('says what could not be measured and why, and shows the notes of a row', () => {
    expect(lastLine({ goal: 3, note: 'others took 1.2 cores' })).toMatch(
      /met, others took 1.2 cores$/,
    );
    expect(lastLine({ note: 'others took 1.2 cores' })).toMatch(/- {2,}others took 1.2 cores$/);
    const missing = { what: 'ours', against: 'theirs', reason: 'no python3' };
    expect(report('x', [missing], false)).toMatch(/ours.*theirs.*not measured: no python3/);
  });

  test('gives every row, unrounded, as one line of JSON', () => {
    const rows = [row({ goal: 2 }), row({ atMost: true, goal: 1 })];
    const json = report('x', rows, true);
    expect(json).not.toContain('\n');
    expect(JSON.parse(json)).toEqual({ name: 'x', rows });
  });
});

test('the median is the middle value, not the value at the middle place', () => {
  expect(median([9, 1, 5])).toBe(5);
});

test('the slope is that of the line through the points, or between points on both sides of it', () => {
  const line = [1, 2, 5, 9].map((x) => [x, 3 * x - 7] as const);
  expect(slope(line)).toBeCloseTo(3, 12);
  const beside = line.flatMap(([x, y]) => [[x, y - 2] as const, [x, y + 2] as const]);
  expect(slope(beside)).toBeCloseTo(3, 12);
});

test('the slope of no points, or of points at one place, is 0', () => {
  const same: readonly (readonly [number, number])[] = [
    [2, 1],
    [2, 5],
  ];
  expect(slope(same)).toBe(0);
  expect(slope([])).toBe(0);
});
