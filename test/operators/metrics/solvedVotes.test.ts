/** Votes on a task without a reference. */
import { describe, expect, test } from '@jest/globals';
import { jury } from '../../../operators/metrics/graders/jury.ts';
import { verdictIn } from '../../../operators/metrics/graders/solvedVotes.ts';
import type { Question } from '../../../topics/index.ts';
import { question } from '../../support/records.ts';

const gold = { kind: 'tools', items: ['get_weather'] } as const;
const task = { gold, functions: ['get_weather'], program: '', files: [], world: '' };
const asked: Question = question({
  id: 'g3-1',
  question: 'Weather of Ulm?',
  answers: [],
  ability: 'qa',
  task,
});

/** The judge says these for each vote and stage (`answer`, `work`, `task`). */
function judged(
  say: (vote: number, stage: string) => string | null,
  id = 'g3-1',
  unsolvablePasses = false,
) {
  const seen: { key: string; prompt: string }[] = [];
  const seat = jury({
    seed: 7,
    unsolvablePasses,
    sleep: async () => undefined,
    judge: async ({ draws, prompt }) => {
      const [, , , vote, stage] = draws;
      seen.push({ key: `${vote}/${stage}`, prompt });
      return say(Number(vote), String(stage));
    },
  });
  const sample = {
    ability: 'qa',
    output: '<tool_call>x</tool_call><result>7 degrees</result>',
    prediction: '7',
    references: [],
    tools: [],
  } as const;
  return { parts: seat({ ...asked, id }, sample), seen };
}

const says = (word: string) => `<judgment>${word}</judgment>`;

test.each<[string, number, object]>([
  ['a majority', 3, { judged: 1, judgeFailed: 0 }],
  ['a minority', 1, { judged: 0, judgeFailed: 0 }],
])('%s of four votes decides', async (_, solved, parts) => {
  const made = judged((vote) => says(vote < solved ? 'Solved' : 'Unsolved'));
  expect(await made.parts).toEqual(parts);
  expect(made.seen.map(({ key }) => key)).toEqual(['0/answer', '1/answer', '2/answer', '3/answer']);
});

test('votes that are even are decided by a draw of the question’s own, always the same', async () => {
  const tie = async (id: string) =>
    (await judged((vote) => says(vote < 2 ? 'Solved' : 'Unsolved'), id).parts).judged;
  const ids = Array.from({ length: 40 }, (_, i) => `g3-${i}`);
  const once = await Promise.all(ids.map(tie));
  expect(await Promise.all(ids.map(tie))).toEqual(once);
  expect(new Set(once)).toEqual(new Set([0, 1]));
});

test('a vote that is unsure sees the work, and then decides', async () => {
  const made = judged((_, stage) => says(stage === 'answer' ? 'Unsure' : 'Solved'));
  expect(await made.parts).toEqual({ judged: 1, judgeFailed: 0 });
  const [answer, work] = ['0/answer', '0/work'].map(
    (key) => made.seen.find((one) => one.key === key)!.prompt,
  );
  expect(answer).not.toContain('7 degrees');
  expect(work).toContain('7 degrees');
  expect(await judged(() => says('Unsure')).parts).toEqual({ judged: 0, judgeFailed: 0 });
});

describe('an unsolved task that cannot be solved', () => {
  const say = (_: number, stage: string) => says(stage === 'task' ? 'Unsolvable' : 'Unsolved');
  test('has failed', async () => {
    expect((await judged(say).parts).judged).toBe(0);
  });
  test('passes as released, where the judge sees the functions', async () => {
    const made = judged(say, 'g3-1', true);
    expect((await made.parts).judged).toBe(1);
    expect(made.seen.at(-1)!.prompt).toContain('get_weather');
  });
});

test('votes that are not given do not count, and none at all is a failure', async () => {
  expect(await judged((vote) => (vote === 2 ? says('Solved') : null)).parts).toEqual({
    judged: 1,
    judgeFailed: 0,
  });
  expect(await judged(() => null).parts).toEqual({ judged: 0, judgeFailed: 1 });
});

test.each([
  ['<judgment>Solved</judgment>', 'solved'],
  ['It is not solved.', 'unsolved'],
  ['<judgment>unsolvable</judgment>', 'unsolvable'],
  ['Solvable, I think', 'solvable'],
  ['No idea', 'unsure'],
])('%j says %s', (reply, verdict) => {
  expect(verdictIn(reply)).toBe(verdict);
});
