import { describe, expect, test } from '@jest/globals';
import { coldStartHints, reflectFrom, verifyFrom } from '../../../operators/coldStart/hints.ts';

const { uncertain } = coldStartHints;
const HINT = ' Let me look.';

describe('a verification hint', () => {
  test.each([
    [
      '<think>It is old. Maybe from 1900. So there.</think><answer>\\boxed{1900}</answer>',
      '<think>It is old. Maybe from 1900. Let me look.',
    ],
    ['<think>Perhaps Ada</think><answer>a</answer>', '<think>Perhaps Ada Let me look.'],
    ['<think>I think so\nand more.</think>', '<think>I think so Let me look.'],
    ['<think>It could be 3.5 or so. Yes.</think>', '<think>It could be 3.5 or so. Let me look.'],
    // The first place in the text, not the first of the list.
    ['<think>Hmm. Not sure.</think>', '<think>Hmm. Let me look.'],
    ['<think>It is UNCERTAIN', '<think>It is UNCERTAIN Let me look.'],
  ])('in %j goes after the first unsure sentence', (chain, expected) => {
    expect(verifyFrom(chain, HINT, uncertain)).toBe(expected);
  });

  test.each([
    ['sure of itself', '<think>It is 3.</think><answer>\\boxed{3}</answer>'],
    ['unsure in its answer alone', '<think>It is 3.</think><answer>maybe 3</answer>'],
    ['without thinking', 'maybe 3'],
  ])('has no place in a chain that is %s', (_, chain) => {
    expect(verifyFrom(chain, HINT, uncertain)).toBeNull();
  });
});

describe('a reflection hint', () => {
  test('goes right after the answer, which is taken back into the thought', () => {
    const chain = '<think>It is 3.</think><answer>\\boxed{3}</answer>\n';
    expect(reflectFrom(chain, HINT, ['search'])).toBe('<think>It is 3.\\boxed{3}\n Let me look.');
  });

  test('has no place in a chain without an answer', () => {
    expect(reflectFrom('<think>It is 3.</think>', HINT, ['search'])).toBeNull();
  });
});
