import { describe, expect, test } from '@jest/globals';
import {
  type BatchExamplesOptions,
  batchDemonstrations,
  batchPairs,
} from '../../operators/batchExamples.ts';
import { runOperator } from '../../testing/runOperator.ts';
import { type Batch, type Demonstrations, type Pairs, topics } from '../../topics/index.ts';
import { obeysOperatorLaws } from '../support/laws.ts';
import { question } from '../support/records.ts';
import { shuffledBy } from '../support/scored.ts';

const QUESTIONS = 7;
const ACTIONS = ['initial', 'refine', 'refine', 'refine', 'hint'];

/** Question i gave `kept(i)` demonstrations. */
const round = (kept = (i: number) => i % 4, round = 1, version = 3): Demonstrations[] =>
  Array.from({ length: QUESTIONS }, (_, i) => ({
    question: question({ id: `q${i}`, phase: 'evolve', round }),
    difficulty: '',
    kept: Array.from({ length: kept(i) }, (_, at) => ({
      index: at + 10,
      round: 1,
      action: ACTIONS[at % ACTIONS.length]!,
      toolCalls: 1,
      turns: [],
      functions: '',
      text: 'text',
    })),
    dropped: [],
    version: i === 2 ? version : version - 1,
  }));

const OPTIONS: BatchExamplesOptions = {
  questions: QUESTIONS,
  epochs: 2,
  size: 4,
  perQuestionMax: 10,
  seed: 5,
  openMax: 2,
};
const make = (over: Partial<BatchExamplesOptions> = {}) =>
  batchDemonstrations({ ...OPTIONS, ...over });

/** Steps as lists of "question/index", references checked against where the records lay. */
async function scheduleOf(
  values: readonly Demonstrations[],
  over: Partial<BatchExamplesOptions> = {},
): Promise<{ batches: readonly Batch[]; names: string[][] }> {
  const { outputs, unsettled } = await runOperator(make(over), topics.demonstrations, values);
  expect(unsettled).toBe(0);
  for (const { questionId, position, index } of outputs.flatMap(({ examples }) => examples)) {
    expect(values[position.offset]!.question.id).toBe(questionId);
    expect(values[position.offset]!.kept[index]).toBeDefined();
  }
  const names = outputs.map(({ examples }) =>
    examples.map(({ questionId, index }) => `${questionId}/${index}`),
  );
  return { batches: outputs, names };
}

const all = ['q1/0', 'q2/0', 'q2/1', 'q3/0', 'q3/1', 'q3/2', 'q5/0', 'q6/0', 'q6/1'];

obeysOperatorLaws('batchDemonstrations', make, { topic: topics.demonstrations, values: round() });

describe('batchDemonstrations', () => {
  test('gives the same schedule whatever order the questions came in', async () => {
    const { names } = await scheduleOf(round());
    for (let seed = 0; seed < 20; seed++) {
      expect((await scheduleOf(shuffledBy(round(), seed))).names).toEqual(names);
    }
  });

  test('trains on every example once an epoch, each time in another order, in steps of similar size', async () => {
    const { names } = await scheduleOf(round());
    expect(names.map(({ length }) => length)).toEqual([3, 3, 3, 3, 3, 3]);
    const epochs = [names.slice(0, 3).flat(), names.slice(3).flat()];
    for (const epoch of epochs) expect(epoch.toSorted()).toEqual(all);
    expect(epochs[0]).not.toEqual(epochs[1]);
  });

  test('has another order with another seed and in another round', async () => {
    const { names } = await scheduleOf(round());
    expect((await scheduleOf(round(), { seed: 6 })).names).not.toEqual(names);
    expect((await scheduleOf(round((i) => i % 4, 2))).names).not.toEqual(names);
  });

  test('holds out a question with all of its examples, the same in every step', async () => {
    const { names, batches } = await scheduleOf(round(), { holdOut: true });
    const held = batches[0]!.heldOut.map(({ questionId, index }) => `${questionId}/${index}`);
    expect(held.length).toBeGreaterThan(0);
    const of = (name: string) => name.split('/')[0];
    expect(new Set(held.map(of)).size).toBe(1);
    expect(all.filter((name) => of(name) === of(held[0]!))).toEqual(held);
    expect([...new Set(names.flat())].sort()).toEqual(all.filter((name) => !held.includes(name)));
    for (const one of batches) expect(one.heldOut).toEqual(batches[0]!.heldOut);
  });

  test('holds out at most eight questions, and none of a single one', async () => {
    const [, pattern] = round();
    const many = Array.from({ length: 200 }, (_, i) => {
      return { ...pattern!, question: { ...pattern!.question, id: `q${i}` } };
    });
    const { batches } = await scheduleOf(many, { holdOut: true, questions: 200 });
    expect(batches[0]!.heldOut).toHaveLength(8);
    const one = await scheduleOf(
      round((i) => (i === 2 ? 1 : 0)),
      { holdOut: true },
    );
    expect(one.batches[0]!.heldOut).toEqual([]);
  });

  test('ends with the error that it is given if there are too few', async () => {
    const tooFew = async ({ round: number, examples }: { round: number; examples: number }) =>
      new Error(`${examples} in round ${number}`);
    await expect(scheduleOf(round(), { examplesMin: 10, tooFew })).rejects.toThrow('9 in round 1');
    expect((await scheduleOf(round(), { examplesMin: 9, tooFew })).batches).toHaveLength(6);
  });

  test('numbers the steps of the round from its newest version on', async () => {
    const { batches } = await scheduleOf(round());
    expect(
      batches.map(({ step, version, round, index, of, last }) => {
        return { step, version, round, index, of, last };
      }),
    ).toEqual(
      [0, 1, 2, 3, 4, 5].map((index) => ({
        step: 4 + index,
        version: 3 + index,
        round: 1,
        index,
        of: 6,
        last: index === 5,
      })),
    );
    expect(batches.every(({ kind, groups }) => kind === 'sft' && groups.length === 0)).toBe(true);
  });

  test('waits for every question, and commits the steps of a round together', async () => {
    const { commits } = await runOperator(make(), topics.demonstrations, round());
    expect(commits.map(({ settled }) => settled)).toEqual([[0, 1, 2, 3, 4, 5, 6]]);
    const short = await runOperator(make(), topics.demonstrations, round().slice(1));
    expect(short.outputs).toEqual([]);
    expect(short.sideRecords['dead-letters']).toHaveLength(QUESTIONS - 1);
  });

  test('ends a round without examples with an empty step', async () => {
    const { batches } = await scheduleOf(round(() => 0));
    expect(batches).toEqual([
      {
        step: 4,
        round: 1,
        version: 3,
        groups: [],
        last: true,
        kind: 'sft',
        examples: [],
        heldOut: [],
        index: 0,
        of: 1,
      },
    ]);
  });

  test('takes a bounded number of examples of a question and of a round', async () => {
    const one = await scheduleOf(round(), { perQuestionMax: 1, epochs: 1 });
    expect(
      one.names
        .flat()
        .map((name) => name.slice(0, 2))
        .sort(),
    ).toEqual(['q1', 'q2', 'q3', 'q5', 'q6']);
    const few = await scheduleOf(round(), { examplesMax: 3 });
    const [first, second] = few.names;
    expect(few.names).toHaveLength(2);
    expect(first!.toSorted()).toEqual(second!.toSorted());
    expect(first).toHaveLength(3);
  });

  test('takes one of each action before a second of any, when balanced', async () => {
    const five = round(() => 5);
    const { names } = await scheduleOf(five, { perQuestionMax: 3, epochs: 1, balance: true });
    for (let i = 0; i < QUESTIONS; i++) {
      const actions = names
        .flat()
        .filter((name) => name.startsWith(`q${i}/`))
        .map((name) => ACTIONS[Number(name.slice(3))]);
      expect(actions.toSorted()).toEqual(['hint', 'initial', 'refine']);
    }
  });

  test('keeps interleaved rounds apart', async () => {
    const mixed = shuffledBy([...round(), ...round(() => 1, 2, 20)], 3);
    const { batches } = await scheduleOf(mixed);
    expect(
      batches
        .filter(({ last }) => last)
        .map(({ round }) => round)
        .sort(),
    ).toEqual([1, 2]);
    expect(batches.filter(({ round }) => round === 2)[0]!.version).toBe(20);
  });
});

describe('batchPairs', () => {
  const values: Pairs[] = [2, 0, 1].map((count, i) => ({
    question: question({ id: `q${i}`, phase: 'prefer', round: 2 }),
    difficulty: 'hard',
    pairs: Array.from({ length: count }, () => ({ chosen: 'a', rejected: 'b', why: 'calls' })),
    version: 6,
  }));
  const makePairs = () => batchPairs({ ...OPTIONS, questions: 3, epochs: 1, size: 2 });

  obeysOperatorLaws('batchPairs', makePairs, { topic: topics.pairs, values });

  test('schedules preference steps', async () => {
    const { outputs } = await runOperator(makePairs(), topics.pairs, values);
    expect(outputs.map(({ kind, version, round }) => [kind, version, round])).toEqual([
      ['dpo', 6, 2],
      ['dpo', 7, 2],
    ]);
    const names = outputs.flatMap(({ examples }) =>
      examples.map(({ questionId, position, index }) => [questionId, position.offset, index]),
    );
    expect(names.sort()).toEqual([
      ['q0', 0, 0],
      ['q0', 0, 1],
      ['q2', 2, 0],
    ]);
  });

  /** Question i gave a pair by one of two rules and was called hard every other time. */
  const classed = Array.from({ length: 24 }, (_, i): Pairs => {
    const made = [{ chosen: 'a', rejected: 'b', why: i % 4 < 2 ? 'vanilla' : 'guided' }];
    return { ...values[0]!, ...ofPlace(i), difficulty: i % 2 === 0 ? 'hard' : 'easy', pairs: made };
  });
  function ofPlace(index: number) {
    const schedule = { index, of: 24, version: -1 };
    return { question: question({ id: `q${index}`, phase: 'prefer', round: 2, schedule }) };
  }
  const shares = { 'vanilla/hard': 2, 'vanilla/easy': 1, 'guided/hard': 2, 'guided/easy': 1 };
  const mixing: Partial<BatchExamplesOptions> = {
    mix: { shares },
    epochs: 2,
    size: 5,
    questions: ({ schedule }) => schedule!.of,
  };

  test('mixes rules and difficulties as set, with the same examples in every epoch', async () => {
    const operator = batchPairs({ ...OPTIONS, ...mixing });
    const { outputs } = await runOperator(operator, topics.pairs, shuffledBy(classed, 1));
    const ids = outputs.map(({ examples }) => examples.map(({ questionId }) => questionId));
    const classOf = (id: string) => {
      const { difficulty, pairs } = classed[Number(id.slice(1))]!;
      return `${pairs[0]!.why}/${difficulty}`;
    };
    const epochs = [ids.slice(0, 4).flat(), ids.slice(4).flat()];
    const counts: Record<string, number> = {};
    for (const id of epochs[0]!) counts[classOf(id)] = (counts[classOf(id)] ?? 0) + 1;
    // Six of each class there are: hard ones set the measure.
    expect(counts).toEqual({
      'vanilla/hard': 6,
      'vanilla/easy': 3,
      'guided/hard': 6,
      'guided/easy': 3,
    });
    expect(epochs[1]!.toSorted()).toEqual(epochs[0]!.toSorted());
    const again = await runOperator(operator, topics.pairs, shuffledBy(classed, 2));
    const idsAgain = again.outputs.map(({ examples }) => examples.map((one) => one.questionId));
    expect(idsAgain).toEqual(ids);
  });

  test('keeps a mixture within the most examples of a round', async () => {
    const operator = batchPairs({ ...OPTIONS, ...mixing, epochs: 1, examplesMax: 7 });
    const { outputs } = await runOperator(operator, topics.pairs, classed);
    expect(outputs.flatMap(({ examples }) => examples)).toHaveLength(6);
  });
});
