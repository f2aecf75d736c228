import { describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { type ParetoOptions, paretoSample } from '../../../operators/paretoSample.ts';
import type { Point } from '../../../operators/sampling/fronts.ts';
import type { RunningFront } from '../../../operators/sampling/runningFront.ts';
import { runOperator } from '../../../testing/runOperator.ts';
import { type Scored, type Selected, topics } from '../../../topics/index.ts';
import { obeysOperatorLaws } from '../../support/laws.ts';
import { pairwiseFronts } from '../../support/pairwisePareto.ts';
import { question } from '../../support/records.ts';
import { rewards, scored, shuffledBy } from '../../support/scored.ts';

const WINDOW = 5;

/** Scheduled candidates, `WINDOW` a step, of one round. */
const groups = (count: number, seed: number): Scored[] =>
  Array.from({ length: count }, (_, i) => {
    const stream = draws('groups', seed, i);
    const four = [0, 1, 2, 3];
    const schedule = { index: i, of: count, version: 1 };
    return scored({
      question: question({ id: `q${String(i).padStart(3, '0')}`, schedule }),
      toolCalls: four.map((k) => stream.integer(k, 4)),
      rewards: rewards(four.map((k) => stream.integer(10 + k, 2))),
    });
  });

const front = (over: Partial<RunningFront> = {}): RunningFront => ({
  ...{ memory: 8, recent: async () => [], turn: async () => undefined },
  ...over,
});

const make = (over: Partial<ParetoOptions> = {}) =>
  paretoSample({
    ...{ sampler: 'front', earlier: front(), window: WINDOW, keep: 2, mixedOnly: false },
    // One at a time, in the order in which they are complete, unless a test says whose turn it is.
    ...{ seed: 3, openMax: 1, ...over },
  });

const judged = async (
  values: readonly Scored[],
  over: Partial<ParetoOptions> = {},
): Promise<readonly Selected[]> => {
  const { outputs, unsettled } = await runOperator(make(over), topics.scored, values);
  expect(unsettled).toBe(0);
  return outputs.toSorted((a, b) => (a.question.id < b.question.id ? -1 : 1));
};

const verdict = ({ question: { id }, front: rank, kept, index, of, why }: Selected) => ({
  ...{ id, rank, kept, index, of, why },
});

/** Turns as a job gives them: a window is judged after the one before it. */
function turns() {
  const waiting: { version: number; go: () => void }[] = [];
  let next = 1;
  return {
    turn: (version: number): Promise<void> =>
      version <= next
        ? Promise.resolve()
        : new Promise((go) => {
            waiting.push({ version, go });
          }),
    /** The window of this version is judged. */
    done(version: number): void {
      next = Math.max(next, version + 1);
      for (const one of waiting) if (one.version <= next) one.go();
    },
  };
}

obeysOperatorLaws('paretoSample with a running front', () => make({ window: 1 }), {
  topic: topics.scored,
  values: groups(5, 1),
});

describe('the running front', () => {
  test('gives each candidate its front among its window and the groups before it', async () => {
    const outputs = await judged(groups(60, 2));
    const points = outputs.map(({ objectives }) => objectives as unknown as Point);
    for (const [i, { front: rank }] of outputs.entries()) {
      const begin = i - (i % WINDOW);
      const compared = [
        ...points.slice(begin, begin + WINDOW),
        ...points.slice(Math.max(0, begin - 8), begin),
      ];
      const fronts = pairwiseFronts(compared);
      expect(rank).toBe(fronts.findIndex((members) => members.includes(i - begin)));
    }
  });

  test('keeps more of a window that is better than those before it, and fewer of a worse one', async () => {
    const lastIs = (other: number): NonNullable<ParetoOptions['objectives']> => {
      const value = ({ question: { id } }: Scored): number =>
        Number(id.slice(1)) < 10 ? 2 : other;
      return [value, value];
    };
    const kept = async (
      objectives: NonNullable<ParetoOptions['objectives']>,
    ): Promise<number[]> => {
      const outputs = await judged(groups(15, 4), { objectives });
      const windows: number[] = [0, 0, 0];
      for (const { question: q, kept: is } of outputs)
        if (is) windows[Math.floor(q.schedule!.index / WINDOW)]! += 1;
      return windows;
    };
    expect((await kept(lastIs(3)))[2]).toBe(WINDOW);
    // The best of a window that has nothing to practise stays: a round without any would never end.
    expect((await kept(lastIs(1)))[2]).toBe(1);
  });

  test('is the same whatever the order of groups', async () => {
    const all = groups(15, 5);
    const first = (await judged(all)).map(verdict);
    for (let seed = 0; seed < 10; seed++) {
      const { turn, done } = turns();
      const earlier = front({ turn });
      const objectives: NonNullable<ParetoOptions['objectives']> = [
        (group) => {
          // Objectives are asked as a window is judged: those after it may go on.
          done(1 + Math.floor(group.question.schedule!.index / WINDOW));
          return group.toolCalls[0]!;
        },
        (group) => group.toolCalls[1]!,
      ];
      const plain: NonNullable<ParetoOptions['objectives']> = [
        (group) => group.toolCalls[0]!,
        (group) => group.toolCalls[1]!,
      ];
      const shuffled = await judged(shuffledBy(all, seed), {
        ...{ earlier, objectives, openMax: 3 },
      });
      const inOrder = await judged(all, { objectives: plain });
      expect(shuffled.map(verdict)).toEqual(inOrder.map(verdict));
    }
    expect(first).toHaveLength(15);
  });

  test('continues after a restart as if it had never stopped, even if kept groups have several verdicts', async () => {
    const all = groups(40, 6);
    for (const epochs of [1, 3]) {
      const whole = await judged(all, { epochs });
      const before = await judged(all.slice(0, 20), { epochs });
      const recent = async (): Promise<Selected[]> => shuffledBy(before, 9);
      const after = await judged(all.slice(20), { epochs, earlier: front({ recent }) });
      const both = [...before, ...after].map(verdict);
      expect(both.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(whole.map(verdict));
    }
  });
});

describe('windows that are cut by time', () => {
  const unscheduled = (count: number): Scored[] =>
    groups(count, 8).map((one) => ({ ...one, question: { ...one.question, schedule: null } }));

  test('wait for the record of the cut, and take as many as it says', async () => {
    const asked: number[] = [];
    let cut = (_size: number): void => undefined;
    const sizeOf = ({ round }: Scored['question']): Promise<number> => {
      asked.push(round);
      if (asked.length === 3) setImmediate(() => cut(3));
      return asked.length > 1
        ? Promise.resolve(3)
        : new Promise((resolve) => {
            cut = resolve;
          });
    };
    const run = await runOperator(
      paretoSample({ ...{ window: 9, keep: 9, mixedOnly: false, seed: 1, openMax: 1, sizeOf } }),
      topics.scored,
      unscheduled(3),
    );
    expect(run.outputs).toHaveLength(3);
    expect(run.commits).toHaveLength(1);
    expect(asked).toHaveLength(3);
  });
});
