/** Where things stand: the mill, the branch tree, points that are looked for, rows of a tap. */
import { describe, expect, test } from '@jest/globals';
import { treeLines } from '../../../page/browser/logic/branchTree.ts';
import { hitsOf } from '../../../page/browser/logic/hits.ts';
import { millLayout, partsOf } from '../../../page/browser/logic/millLayout.ts';
import { frameOf, frontLine, jittered } from '../../../page/browser/logic/scatterFrame.ts';
import { rowsMax, withRows } from '../../../page/browser/logic/tapRows.ts';
import type { TopicRow } from '../../../page/wire/index.ts';

const shares = { busy: 1, starved: 0, blocked: 0, paced: 0 };
const stage = (name: string, from: string, to: string, phase = '') => {
  return { name, from, to, phase, finished: phase === 'Fine-tuning', shares };
};
const quickstart = partsOf(
  [
    { name: 'base', to: 'weights' },
    { name: 'questions', to: 'questions' },
  ],
  [
    stage('evolve', 'questions', 'evolved', 'Fine-tuning'),
    stage('rollout', 'questions', 'rollouts', 'RL'),
    stage('filter', 'evolved', 'demonstrations', 'Fine-tuning'),
    stage('score', 'rollouts', 'scored', 'RL'),
    stage('lessons', 'demonstrations', 'batches', 'Fine-tuning'),
    stage('pareto', 'scored', 'selected', 'RL'),
    stage('practice', 'selected', 'rollouts', 'RL'),
    stage('batch', 'scored', 'batches', 'RL'),
    stage('trainer', 'batches', 'weights'),
    stage('measure', 'scored', 'metrics', 'Measurement'),
    stage('files', 'metrics', '', 'Measurement'),
  ],
);

describe.each([1334, 700, 340, 280])('the overview, %i pixels wide', (width) => {
  const { boxes, bands, flows, height, shape } = millLayout(quickstart, width);

  test('has room for every part without overlaps', () => {
    expect(boxes).toHaveLength(quickstart.length);
    for (const box of boxes) {
      expect(box.x).toBeGreaterThanOrEqual(0);
      expect(box.x + box.width).toBeLessThanOrEqual(width + 0.01);
      expect(box.y + box.height).toBeLessThanOrEqual(height);
      for (const other of boxes) {
        if (other === box) continue;
        const apart =
          box.x + box.width <= other.x ||
          other.x + other.width <= box.x ||
          box.y + box.height <= other.y ||
          other.y + other.height <= box.y;
        expect(apart).toBe(true);
      }
    }
  });

  test('has a band for each phase, with its stages and no others, beside those of the others', () => {
    expect(bands.map(({ phase }) => phase)).toEqual(['Fine-tuning', 'RL', 'Measurement']);
    for (const band of bands) {
      const inside = boxes.filter(
        (box) =>
          box.x < band.x + band.width &&
          band.x < box.x + box.width &&
          box.y < band.y + band.height &&
          band.y < box.y + box.height,
      );
      expect(new Set(inside.map(({ phase }) => phase))).toEqual(new Set([band.phase]));
      for (const other of bands) {
        if (other === band) continue;
        const apart = band.y + band.height <= other.y || other.y + other.height <= band.y;
        expect(apart).toBe(true);
      }
    }
  });

  test('wires the base policy to the stages that it serves first', () => {
    const base = flows.filter(({ from }) => from === 'base').map(({ to }) => to);
    expect(base.sort()).toEqual(['evolve', 'rollout']);
  });

  test('draws every flow once, and those that close a cycle as flowing back', () => {
    const back = flows.filter((flow) => flow.back).map(({ from, to }) => `${from} → ${to}`);
    expect(back.sort()).toEqual([
      'practice → score',
      'trainer → evolve',
      'trainer → practice',
      'trainer → rollout',
    ]);
    expect(new Set(flows.map(({ from, to }) => `${from} ${to}`)).size).toBe(flows.length);
  });

  test('flows forward from left to right, or from top to bottom', () => {
    const box = new Map(boxes.map((one) => [one.name, one]));
    for (const { from, to, back } of flows) {
      if (back) continue;
      const [a, b] = [box.get(from)!, box.get(to)!];
      expect(shape === 'wide' ? a.x < b.x : a.y < b.y).toBe(true);
    }
  });
});

test('an overview without parts can be drawn', () => {
  expect(millLayout([], 500).boxes).toEqual([]);
});

describe('the branch tree', () => {
  test('puts a branch under its parent, from where it left', () => {
    const lines = treeLines([
      { index: 0, parent: null, length: 100 },
      { index: 1, parent: null, length: 50 },
      { index: 2, parent: { index: 0, offset: 40 }, length: 80 },
      { index: 3, parent: { index: 2, offset: 60 }, length: 200 },
    ]);
    expect(lines.map(({ index }) => index)).toEqual([0, 2, 3, 1]);
    expect(lines[1]).toMatchObject({ from: 0, start: 0.2, end: 0.4, depth: 1 });
    expect(lines[2]).toMatchObject({ from: 1, start: 0.3, end: 1, depth: 2 });
  });

  test('makes a root of a branch whose parent is missing or later', () => {
    const lines = treeLines([
      { index: 0, parent: { index: 1, offset: 5 }, length: 10 },
      { index: 1, parent: { index: 0, offset: 5 }, length: 10 },
      { index: 2, parent: { index: 9, offset: 5 }, length: 10 },
    ]);
    expect(lines.map(({ index, from }) => [index, from])).toEqual([
      [0, null],
      [1, 0],
      [2, null],
    ]);
  });
});

describe('points of a scatter plot', () => {
  const points = Array.from({ length: 500 }, (_, i) => ({ x: (i * 37) % 500, y: (i * 91) % 300 }));
  const xs = points.map(({ x }) => x);
  const ys = points.map(({ y }) => y);
  const hits = hitsOf(xs, ys);

  test('are found as by a plain search for the nearest', () => {
    for (const [x, y] of [
      [10, 10],
      [250, 150],
      [499, 299],
      [-5, 3],
    ] as const) {
      const near = points
        .map((p, i) => ({ i, d: Math.hypot(p.x - x, p.y - y) }))
        .filter(({ d }) => d <= 14);
      const least = Math.min(...near.map(({ d }) => d));
      const found = hits.nearest(x, y, 14);
      if (near.length === 0) expect(found).toBeNull();
      else expect(Math.hypot(xs[found!]! - x, ys[found!]! - y)).toBeCloseTo(least, 9);
    }
  });

  test('are selected by a box, however it was drawn', () => {
    const slow = points.flatMap((p, i) =>
      p.x >= 100 && p.x <= 200 && p.y >= 50 && p.y <= 90 ? [i] : [],
    );
    expect(hits.within(100, 50, 200, 90)).toEqual(slow);
    expect(hits.within(200, 90, 100, 50)).toEqual(slow);
  });

  test('that coincide are spread around their place', () => {
    const [x, y] = [new Float32Array(30).fill(100), new Float32Array(30).fill(80)];
    jittered(x, y);
    expect([x[0], y[0]]).toEqual([100, 80]);
    expect(new Set(Array.from(x, (at, i) => `${at.toFixed(1)} ${y[i]!.toFixed(1)}`)).size).toBe(30);
    for (let i = 0; i < 30; i++)
      expect(Math.hypot(x[i]! - 100, y[i]! - 80)).toBeLessThanOrEqual(26.01);
  });

  test('are within their frame, even one point or none', () => {
    for (const some of [points, [{ x: 3, y: 3 }], []]) {
      const frame = frameOf(some, 600, 400);
      for (const { x, y } of some) {
        expect(frame.x(x)).toBeGreaterThan(frame.left);
        expect(frame.x(x)).toBeLessThan(frame.right);
        expect(frame.y(y)).toBeGreaterThan(frame.top);
        expect(frame.y(y)).toBeLessThan(frame.bottom);
      }
    }
  });

  test('of a front are joined by steps, around what they are better than', () => {
    expect(
      frontLine(
        [
          { x: 5, y: 4 },
          { x: 2, y: 1 },
        ],
        { left: 0, bottom: 9 },
      ),
    ).toEqual([
      { x: 0, y: 1 },
      { x: 2, y: 1 },
      { x: 2, y: 4 },
      { x: 5, y: 4 },
      { x: 5, y: 9 },
    ]);
  });
});

describe('rows of a tap', () => {
  const row = (offset: number, partition = 0): TopicRow =>
    ({ ref: `${partition}-${offset}`, partition, offset, atMs: offset }) as TopicRow;

  test('are ordered newest first, each once', () => {
    const rows = withRows([row(5), row(4)], [row(7), row(5), row(6)], 'oldest');
    expect(rows.map(({ offset }) => offset)).toEqual([7, 6, 5, 4]);
  });

  test('are bounded, at the end that is not read', () => {
    const many = Array.from({ length: rowsMax }, (_, i) => row(i));
    const full = withRows([], many, 'oldest');
    expect(withRows(full, [row(rowsMax)], 'oldest')[0]!.offset).toBe(rowsMax);
    expect(withRows(full, [row(rowsMax)], 'oldest')).toHaveLength(rowsMax);
    expect(withRows(full, [row(rowsMax)], 'newest').at(-1)!.offset).toBe(0);
  });
});
