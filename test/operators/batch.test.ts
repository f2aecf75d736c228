import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { batch, batchSelected } from '../../operators/batch.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { feedback } from '../../streams/feedback.ts';
import { flow } from '../../streams/flow.ts';
import type { Log } from '../../streams/log.ts';
import { type FlowEnd, runFlow } from '../../streams/run/runFlow.ts';
import { stage } from '../../streams/stage.ts';
import { runOperator } from '../../testing/runOperator.ts';
import { type Batch, type Scored, type Selected, topics } from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { obeysOperatorLaws } from '../support/laws.ts';
import { batch as batchRecord, question, samples } from '../support/records.ts';
import { practised, scored, shuffledBy } from '../support/scored.ts';

const OF = 7;
const round = (version = 0, round = 1) =>
  Array.from({ length: OF }, (_, index) =>
    scored({ question: practised(index, OF, { round, schedule: { index, of: OF, version } }) }),
  );
const make = () => batch({ groups: 3, openMax: 3 });
const ids = ({ groups }: Batch): string[] => groups.map(({ questionId }) => questionId);

obeysOperatorLaws('batch', make, { topic: topics.scored, values: round() });

describe('batch', () => {
  test('gives each step its groups in order, whatever order they came in', async () => {
    for (let seed = 0; seed < 30; seed++) {
      const shuffled = shuffledBy(round(), seed);
      const { outputs, unsettled } = await runOperator(make(), topics.scored, shuffled);
      expect(unsettled).toBe(0);
      const steps = [...outputs].sort((a, b) => a.step - b.step);
      expect(steps.map(ids)).toEqual([['p0', 'p1', 'p2'], ['p3', 'p4', 'p5'], ['p6']]);
      for (const { groups } of steps) {
        for (const { questionId, scored: position } of groups) {
          expect(shuffled[position.offset]!.question.id).toBe(questionId);
        }
      }
    }
  });

  test('numbers steps from 1, each from the version that the one before it made', async () => {
    const { outputs } = await runOperator(make(), topics.scored, round(4, 2));
    expect(
      outputs.map(({ step, version, round, last, index, of }) => {
        return { step, version, round, last, index, of };
      }),
    ).toEqual([
      { step: 5, version: 4, round: 2, last: false, index: 0, of: 3 },
      { step: 6, version: 5, round: 2, last: false, index: 1, of: 3 },
      { step: 7, version: 6, round: 2, last: true, index: 2, of: 3 },
    ]);
  });

  test('ends a round that fills its steps with a full step', async () => {
    const values = Array.from({ length: 6 }, (_, i) => scored({ question: practised(i, 6) }));
    const { outputs } = await runOperator(make(), topics.scored, values);
    expect(outputs.map(({ last, groups }) => [last, groups.length])).toEqual([
      [false, 3],
      [true, 3],
    ]);
  });

  test('keeps the rounds apart', async () => {
    const values = shuffledBy([...round(0, 1), ...round(3, 2)], 1);
    const { outputs } = await runOperator(batch({ groups: 3, openMax: 9 }), topics.scored, values);
    expect(outputs.map(({ step }) => step).sort()).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('settles groups of other phases without a batch', async () => {
    const others = (['explore', 'evaluate'] as const).map((phase) =>
      scored({ question: question({ phase }) }),
    );
    const run = await runOperator(make(), topics.scored, [...others, ...round()]);
    expect(run.outputs).toHaveLength(3);
    expect(run.commits.slice(0, 2).map(({ settled }) => settled)).toEqual([[0], [1]]);
  });

  test('fails if more steps are open than allowed', async () => {
    const values = [0, 3, 6].map((index) => scored({ question: practised(index, 9) }));
    const run = runOperator(batch({ groups: 3, openMax: 2 }), topics.scored, values);
    await expect(run).rejects.toMatchObject({ code: 'GATHER_FULL' });
  });
});

describe('batch with a schedule', () => {
  let folder: ReturnType<typeof temporaryFolder>;
  let log: Log;

  beforeEach(async () => {
    folder = temporaryFolder();
    log = await openLog({ folder: folder.path, mode: 'write' });
  });
  afterEach(async () => {
    await log.close();
    folder.remove();
  });

  /** Until nothing is left to do, or `stopAt` groups are in flight. */
  const run = (stopAt?: number): Promise<FlowEnd> => {
    const stop = new AbortController();
    const steps = feedback(topics.batches);
    const operator = batch({ groups: 3, openMax: 3, scheduled$: steps.values$ });
    const part = stage('batch', topics.scored, topics.batches, operator);
    return runFlow(flow(part, steps), {
      ...{ log, signal: stop.signal, graceMs: 3_600_000, statsMs: 5 },
      onStats: ({ stages }) => {
        if (stages[0]!.inflight === stopAt) stop.abort();
      },
    });
  };
  const append = (groups: readonly Scored[]): Promise<void> =>
    log.commit((tx) => {
      for (const group of groups) tx.append(topics.scored, group);
    });
  const stepsWritten = async (): Promise<number[]> => {
    const stored$ = log.tap(topics.batches, { from: { kind: 'earliest' }, follow: false });
    return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value.step);
  };

  test('writes steps in order, whichever is complete first', async () => {
    await append([...round()].reverse());
    expect(await run()).toBe('quiescent');
    expect(await stepsWritten()).toEqual([1, 2, 3]);
  });

  test('keeps waiting steps when the run stops, and resumes them', async () => {
    const groups = round();
    const later = groups.slice(3);
    await append(later);
    expect(await run(later.length)).toBe('stopped');
    expect(await stepsWritten()).toEqual([]);
    await append(groups.slice(0, 3));
    expect(await run()).toBe('quiescent');
    expect(await stepsWritten()).toEqual([1, 2, 3]);
  });
});

describe('batchSelected', () => {
  /** Rounds of 10 candidates in windows of 4; two are kept of each, and the round begins at version 6. */
  const verdict = (window: number, index: number, kept = true): Selected => ({
    ...samples.selected.full,
    question: question({
      id: `w${window}i${index}`,
      round: 2,
      schedule: { index: window * 4 + (kept ? index : 3 - index), of: 10, version: 6 },
    }),
    kept,
    index: kept ? index : -1,
    of: 2,
    version: 6 + window,
    scored: { partition: 0, offset: window * 100 + index },
  });
  const values = [0, 1, 2].flatMap((window) => [
    ...[verdict(window, 1), verdict(window, 0), verdict(window, 0, false)],
  ]);
  const makeSelected = () => batchSelected({ window: 4, openMax: 3 });

  obeysOperatorLaws('batchSelected', makeSelected, { topic: topics.selected, values });

  test('makes a step of the kept groups of each window, in the order of their places', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const { outputs, unsettled } = await runOperator(
        makeSelected(),
        topics.selected,
        shuffledBy(values, seed),
      );
      expect(unsettled).toBe(0);
      expect([...outputs].sort((a, b) => a.step - b.step)).toEqual(
        [0, 1, 2].map((window) =>
          batchRecord({
            step: 7 + window,
            round: 2,
            version: 6 + window,
            groups: [0, 1].map((index) => ({
              questionId: `w${window}i${index}`,
              scored: { partition: 0, offset: window * 100 + index },
            })),
            last: window === 2,
            index: window,
            of: 3,
          }),
        ),
      );
    }
  });
});
