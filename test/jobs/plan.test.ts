import { describe, expect, test } from '@jest/globals';
import { shuffled } from '../../base/draws.ts';
import { calibrate } from '../../jobs/calibrate/calibrate.ts';
import { sizesOf } from '../../jobs/calibrate/rounds.ts';
import { calibrateSettings } from '../../jobs/calibrate/settings.ts';
import { everyQuestion, everyQuestionSettings } from '../../jobs/everyQuestion.ts';
import { finetune, finetuneSettings } from '../../jobs/finetune.ts';
import { flywheel, flywheelSettings } from '../../jobs/flywheel.ts';
import { loopOptions, planMethods } from '../../jobs/method.ts';
import { type ListedPlan, type ListedQuestions, planRounds } from '../../jobs/plan.ts';
import { accuracy } from '../../operators/rewards/accuracy.ts';
import type { QuestionItem } from '../../sources/questions.ts';
import { AFTER_LAST_ROUND, type Question, stepAt } from '../../topics/index.ts';
import { samples } from '../support/records.ts';

async function* rows(count: number, name = 'q'): AsyncGenerator<QuestionItem> {
  for (let i = 0; i < count; i++) {
    const fields = { question: `${name}?`, answers: ['1'], source: 'test', ability: 'qa' } as const;
    yield { value: { id: `${name}${i}`, ...fields } };
  }
}

async function* withLetters(): AsyncGenerator<QuestionItem> {
  yield { deadLetter: { ...samples.deadLetters.full, place: 1 } };
  yield* rows(10);
  yield { deadLetter: { ...samples.deadLetters.full, place: 12 } };
}

const seed = 7;
const options = {
  rounds: 2,
  explore: 4,
  heldOut: 3,
  seed,
  evaluateEvery: 0,
  select: 'questions' as 'questions' | 'groups',
  keep: 2,
  batchGroups: 1,
};
type Options = Omit<typeof options, 'rounds'> & { readonly rounds: number | 'forever' };

function* taken<T>(items: Iterable<T>, count: number): Generator<T> {
  let left = count;
  for (const item of items) {
    if (left-- === 0) return;
    yield item;
  }
}

/** The plan of a calibration, and the sizes of its rounds. */
async function planQuestions(rows: ListedQuestions, over: Partial<Options> = {}) {
  const given = { ...options, ...over };
  const settings = calibrateSettings.parse(given);
  const methods = [calibrate(settings)];
  const layout = (train: number) =>
    planMethods(methods, { train, seed }).flatMap(({ rounds }) => rounds);
  const plan = await planRounds(rows, layout, given);
  return { ...plan, ...sizesOf(settings, plan.train) };
}
const plan = (train: ListedQuestions['train'], over?: Partial<Options>) =>
  planQuestions({ train }, over);

const questions = ({ items }: ListedPlan): Question[] =>
  [...items].flatMap((item) => ('value' in item ? [item.value] : []));
const ids = (made: ListedPlan, phase: string, round: number): string[] =>
  questions(made)
    .filter((question) => question.phase === phase && question.round === round)
    .map(({ id }) => id);

describe('the plan', () => {
  test('asks the held-out questions first, then each round’s candidates and the held-out ones', async () => {
    const made = await plan(rows(20));
    expect(made).toMatchObject({ explore: 4, heldOut: 3 });
    expect(questions(made).map(({ phase, round }) => `${phase} ${round}`)).toEqual([
      ...Array(3).fill('evaluate 0'),
      ...Array(4).fill('explore 1'),
      ...Array(3).fill('evaluate 1'),
      ...Array(4).fill('explore 2'),
      ...Array(3).fill('evaluate 2'),
    ]);
    expect(questions(made).every(({ schedule }) => schedule === null)).toBe(true);
    expect(ids(made, 'evaluate', 2)).toEqual(ids(made, 'evaluate', 0));
  });

  test('takes other candidates each round, and none that is held out', async () => {
    const made = await plan(rows(20), { rounds: 3 });
    const seen = [1, 2, 3].flatMap((round) => ids(made, 'explore', round));
    expect(new Set([...seen, ...ids(made, 'evaluate', 0)]).size).toBe(12 + 3);
  });

  test('starts over when the rows run out, with no question twice in a round', async () => {
    const made = await plan(rows(10), { rounds: 5 });
    const seen = [1, 2, 3, 4, 5].map((round) => ids(made, 'explore', round));
    for (const round of seen) expect(new Set(round).size).toBe(4);
    expect(new Set(seen.flat()).size).toBe(7);
    expect(seen.flat().slice(7)).toEqual([...seen.flat(), ...seen.flat()].slice(0, 13));
  });

  test('is the same for the same rows and seed, and another for another seed', async () => {
    const made = await plan(rows(20));
    expect(await plan(rows(20))).toEqual(made);
    const other = await plan(rows(20), { seed: 8 });
    expect(ids(other, 'explore', 1)).not.toEqual(ids(made, 'explore', 1));
  });

  test('holds out at most three in ten questions, and explores no more than is left', async () => {
    const made = await plan(rows(10), { heldOut: 100, explore: 100 });
    expect(made).toMatchObject({ heldOut: 3, explore: 7 });
    expect(ids(made, 'explore', 1)).toHaveLength(7);
  });

  test('for whole groups gives each round’s candidates places, a window a step', async () => {
    // 4 groups in steps of 2 are 2 steps, so 10 candidates make windows of 5.
    const groups = { select: 'groups', keep: 4, batchGroups: 2, explore: 10, rounds: 3 } as const;
    const made = await plan(rows(20), groups);
    expect(made).toMatchObject({ explore: 10, window: 5, keep: 2 });
    for (const round of [1, 2, 3]) {
      const asked = questions(made).filter((one) => one.phase === 'explore' && one.round === round);
      expect(asked.map(({ schedule }) => schedule)).toEqual(
        asked.map((_, index) => ({ index, of: 10, version: (round - 1) * 2 })),
      );
    }
    const held = questions(made).filter(({ phase }) => phase === 'evaluate');
    expect(held.every(({ schedule }) => schedule === null)).toBe(true);
  });

  test.each([
    // questions, groups a step, sizes of a round's steps
    [8, 4, [4, 4]],
    [60, 12, [12, 12, 12, 12, 12]],
    [50, 12, [12, 12, 12, 12, 2]],
    [5, 12, [5]],
    [300, 100, [100, 100, 56]],
  ])(
    'for whole groups makes steps of batchGroups, also where %p questions are fewer than explore',
    (train, batchGroups, steps) => {
      const settings = everyQuestionSettings.parse({ explore: 256, batchGroups, rounds: 2 });
      const [planned] = planMethods([everyQuestion(settings)], { train, seed });
      const [first, second] = planned!.rounds;
      const explore = Math.min(256, train);
      const places = Array.from({ length: explore }, (_, i) => first!.schedule!(i));
      const made = steps.map((_, index) => {
        const own = places.filter((place) => stepAt(place, planned!.loop.window!).index === index);
        return own.length;
      });
      expect(made).toEqual(steps);
      expect(second!.schedule!(0).version).toBe(steps.length);
    },
  );

  test('for whole groups counts the steps that a round really has', async () => {
    // 5 steps are requested; 11 candidates in windows of 3 make 4.
    const groups = { select: 'groups', keep: 9, batchGroups: 2, explore: 11 } as const;
    const made = await plan(rows(40), groups);
    expect(made.window).toBe(3);
    const second = questions(made).find(({ phase, round }) => phase === 'explore' && round === 2);
    expect(second!.schedule!.version).toBe(4);
  });

  test('takes held-out questions from a file of their own, in its order', async () => {
    const made = await planQuestions({ train: rows(8), heldOut: rows(9, 'held') });
    expect(made).toMatchObject({ heldOut: 3, explore: 4 });
    expect(ids(made, 'evaluate', 1)).toEqual(['held0', 'held1', 'held2']);
    expect(new Set([...ids(made, 'explore', 1), ...ids(made, 'explore', 2)]).size).toBe(8);
  });

  test('puts unreadable rows first, and does not count them', async () => {
    const made = await plan(withLetters());
    expect(
      [...made.items].slice(0, 2).map((item) => 'deadLetter' in item && item.deadLetter.place),
    ).toEqual([1, 12]);
    expect(made).toMatchObject({ heldOut: 3, explore: 4 });
  });

  test('without a last round has the questions of any number of rounds', async () => {
    const forever = await plan(rows(20), { rounds: 'forever' });
    for (const rounds of [1, 3, 8]) {
      const some = [...(await plan(rows(20), { rounds })).items];
      expect([...taken(forever.items, some.length)]).toEqual(some);
    }
    expect(forever).toMatchObject({ endless: true, rounds: ['the base policy', 'round 1'] });
    expect((await plan(rows(20))).endless).toBe(false);
    // begins again from the first question, pass after pass, and asks none twice in a round
    const asked = [...taken(forever.items, 3 + 40 * (4 + 3))].flatMap((item) =>
      'value' in item && item.value.phase === 'explore' ? [item.value] : [],
    );
    expect(asked).toHaveLength(160);
    expect(asked.slice(17, 34).map(({ id }) => id)).toEqual(asked.slice(0, 17).map(({ id }) => id));
    expect(new Set(asked.map(({ id, round }) => `${round}/${id}`)).size).toBe(160);
    expect(asked.at(-1)!.round).toBe(40);
  });

  test.each([
    [0, [0, 1, 2, 3, 4, 5, 6, 7, 8]],
    // two steps a round: at least three between, at ends of rounds
    [3, [0, 2, 3, 5, 6, 8]],
    [6, [0, 3, 6, 8]],
    [100, [0, 8]],
  ])(
    'evaluates every %p steps, at ends of rounds, and at the end',
    async (evaluateEvery, rounds) => {
      const made = await plan(rows(20), { rounds: 8, evaluateEvery });
      const evaluated = questions(made).filter(({ phase }) => phase === 'evaluate');
      expect([...new Set(evaluated.map(({ round }) => round))]).toEqual(rounds);
      expect(evaluated).toHaveLength(3 * rounds.length);
      expect(made.sizes.reduce((sum, size) => sum + size, 0)).toBe(questions(made).length);
    },
  );

  test('has nothing after endless rounds', () => {
    const forever = calibrate(calibrateSettings.parse({ rounds: 'forever' }));
    const after = calibrate(calibrateSettings.parse({}));
    expect(() => planMethods([forever, after], { train: 20, seed })).toThrow('never ends');
    expect(planMethods([after, forever], { train: 20, seed })).toHaveLength(2);
  });

  test.each([
    [0, '0 usable rows'],
    [1, '1 usable row'],
    [3, '3 usable rows'],
  ])('refuses %p rows with a reason', async (count, usable) => {
    await expect(plan(rows(count))).rejects.toThrow(`has ${usable} and 0 bad ones`);
  });

  test('works with 4 rows', async () => {
    expect(await plan(rows(4))).toMatchObject({ heldOut: 1, explore: 3 });
  });

  test('refuses a held-out file without a usable row', async () => {
    const made = planQuestions({ train: rows(8), heldOut: rows(0) });
    await expect(made).rejects.toThrow('held-out questions has no usable row');
  });
});

describe('a list of methods', () => {
  const evolving = flywheel(flywheelSettings.parse({ questions: 5 }), {
    models: () => () => Promise.resolve(null),
  });
  const tuning = finetune(
    finetuneSettings.parse({ lr: 0.5, schedule: 'constant', warmupRatio: 0 }),
  );
  const settings = calibrateSettings.parse({ rounds: 2, select: 'groups', explore: 8, lr: 0.25 });
  const place = { train: 9, seed };

  test('have their rounds one after the other, and open what they cannot know', () => {
    const planned = planMethods([evolving, tuning, calibrate(settings)], place);
    const rounds = planned.flatMap((method) => method.rounds);
    expect(rounds.map(({ name, phase, count }) => [name, phase, count])).toEqual([
      ['fine-tuning', 'evolve', 5],
      ['round 1', 'explore', 8],
      ['round 2', 'explore', 8],
    ]);
    expect(rounds[1]!.schedule!(3)).toEqual({ index: 3, of: 8, version: AFTER_LAST_ROUND });
    const [alone] = planMethods([calibrate(settings)], place);
    expect(alone!.rounds[0]!.schedule!(3).version).toBe(0);
  });

  test('shares one loop, whose rollouts follow the last method', () => {
    const reward = accuracy();
    const planned = planMethods([evolving, tuning, calibrate(settings, { reward })], place);
    const options = loopOptions(planned.map(({ loop }) => loop));
    expect(Object.keys(options.training.losses).sort()).toEqual(['policy', 'sft']);
    expect(options.training.results).toBe('masked');
    expect(options.rates.policy).toBe(0.25);
    expect(options.rates.sft).toBeInstanceOf(Function);
    expect(options.reward).toBe(reward);
  });

  test('is refused if one lacks what another should make', () => {
    expect(() => planMethods([tuning], place)).toThrow('needs an earlier method');
    const [only] = planMethods([evolving], place);
    expect(() => loopOptions([only!.loop])).toThrow('no method of this job defines');
  });
});

describe('shuffled', () => {
  test('keeps every item and follows its key', () => {
    const items = Array.from({ length: 50 }, (_, i) => i);
    const once = shuffled(items, 7, 'a');
    expect(once).not.toEqual(items);
    expect([...once].sort((a, b) => a - b)).toEqual(items);
    expect(shuffled(items, 7, 'a')).toEqual(once);
    expect(shuffled(items, 7, 'b')).not.toEqual(once);
    expect(items[0]).toBe(0);
  });

  test('puts each item in each place about as often', () => {
    const seen = new Map<string, number>();
    for (let seed = 0; seed < 3000; seed++) {
      for (const [place, item] of shuffled(['a', 'b', 'c'], seed).entries()) {
        seen.set(`${item}${place}`, (seen.get(`${item}${place}`) ?? 0) + 1);
      }
    }
    // 1000 expected, deviation 26.
    for (const count of seen.values()) expect(Math.abs(count - 1000)).toBeLessThan(110);
    expect(seen.size).toBe(9);
  });
});
