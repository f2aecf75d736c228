/** What a report says of a run in which no answer is right. */
import { expect, test } from '@jest/globals';
import { evaluation } from '../../operators/metrics/index.ts';
import { zeroAccuracy } from '../../summary/zeroAccuracy.ts';
import { question, reward, scored } from '../cli/support/records.ts';

/** Groups of one rollout; format -1 = not valid. */
const groups = (count: number, raw: number, format: number, calls: number) =>
  Array.from({ length: count }, (_, i) =>
    scored({
      question: question(`q${i}`, 'evaluate', 0),
      rewards: [reward(i === 0 ? raw : 0, format)],
      toolCalls: [calls],
      lengths: [10],
    }),
  );
const said = (...of: Parameters<typeof groups>) => zeroAccuracy('r', evaluation(groups(...of)));

test('nothing while an answer is right, of few questions, or before the first evaluation', () => {
  expect(said(10, 1, 0, 1)).toEqual([]);
  expect(said(7, 0, 0, 1)).toEqual([]);
  expect(zeroAccuracy('r', null)).toEqual([]);
});

test('what the responses look like, and where to read one', () => {
  expect(said(8, 0, -1, 0)).toEqual([
    expect.stringMatching(
      /^no answer to 8 held-out questions is right: no response has a valid format, and none calls a tool\. Read one with millrace tap r\.rollouts/,
    ),
  ]);
  expect(said(8, 0, 0, 2)[0]).toContain(
    '100.0 % of the responses have a valid format, and they make 2.0 tool calls each',
  );
});
