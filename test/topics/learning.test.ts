import { describe, expect, test } from '@jest/globals';
import { Learning, noteOf } from '../../topics/index.ts';

type Step = Readonly<Record<string, number>>;

const uniform: Step = { 'groups/uniform': 1, 'reward/mean': 0.25, 'accuracy/mean': 0 };
const learning: Step = { 'groups/uniform': 0.75, grad_norm: 0.5, 'step/applied': 2, lr: 1e-5 };

/** What is said while the steps are made, and at the end. */
function said(steps: readonly Step[], from = 1) {
  const book = new Learning();
  const warnings: string[] = [];
  for (const [i, numbers] of steps.entries()) {
    for (const [name, value] of Object.entries({ ...numbers, 'time/train_ms': 1 })) {
      const idle = book.add({ name, value, step: from + i });
      if (idle !== null) warnings.push(noteOf(idle));
    }
  }
  return { warnings, notes: book.notes('r') };
}
const times = (count: number, step: Step): Step[] => Array.from({ length: count }, () => step);

describe('the check that a run learns', () => {
  test('is silent while steps change the policy', () => {
    expect(said([...times(2, uniform), learning, ...times(2, uniform)])).toEqual({
      warnings: [],
      notes: [],
    });
    expect(said([])).toEqual({ warnings: [], notes: [] });
  });

  test('warns once, after three steps, while the run goes on', () => {
    const { warnings } = said([learning, ...times(5, uniform), learning, ...times(5, uniform)]);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^steps 2 to 4 taught the policy nothing: .*\(mean 0\.250\)/);
  });

  test('warns at the end of the longest stretch without learning', () => {
    const { notes } = said([learning, ...times(3, uniform), learning, ...times(5, uniform)]);
    expect(notes).toEqual([expect.stringMatching(/^steps 6 to 10 taught the policy nothing/)]);
  });

  test('warns of a run of one or two steps too, if none taught anything', () => {
    expect(said(times(2, uniform))).toEqual({
      warnings: [],
      notes: [expect.stringMatching(/^no step taught the policy anything \(steps 1 to 2\)/)],
    });
    // Of a run that is read in part, it is unknown what its other steps did.
    expect(said(times(2, uniform), 41).notes).toEqual([]);
  });

  const reasons: readonly (readonly [string, Step, RegExp])[] = [
    ['no answer is right', uniform, /no answer was right: use easier questions/],
    ['every answer is right', { ...uniform, 'accuracy/mean': 1 }, /use harder questions/],
    [
      'the reward is the same',
      { ...uniform, 'accuracy/mean': 0.5 },
      /got the same reward .*tap r\.scored/,
    ],
    ['all rollouts failed', { ...uniform, 'rollouts/failed': 1 }, /tap r\.rollouts/],
    ['there is no demonstration', { examples: 0 }, /gave no demonstration.*tap r\.demonstrations/],
    [
      'every step was skipped',
      { 'step/applied': 0, 'step/skipped': 2, grad_norm: Number.NaN },
      /no gradient was finite.*lower lr/,
    ],
    [
      'other weights made the rollouts',
      { 'step/refused': 1, 'step/applied': 0, 'step/skipped': 1, 'logprob/diff_mean': 0.06 },
      /not sampled with the policy's weights.*0\.060 nats a token/,
    ],
    ['the rate is 0', { ...learning, lr: 0 }, /the learning rate was 0/],
    ['the gradient is 0', { ...learning, grad_norm: 0 }, /the gradient was 0/],
  ];
  test.each(reasons)('gives a reason and a remedy if %s', (_, step, text) => {
    const { notes } = said(times(3, step));
    expect(notes).toEqual([expect.stringMatching(text)]);
    expect(notes[0]).toMatch(/^no step taught the policy anything \(steps 1 to 3\): /);
  });

  test('is silent if a service does not report the size of the gradient', () => {
    expect(said(times(4, { ...learning, grad_norm: Number.NaN })).notes).toEqual([]);
  });
});
