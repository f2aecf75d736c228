import { describe, expect, test } from '@jest/globals';
import { paperTools } from '../support/paperTools.ts';
import { assistantTurn, compareAnswers, mathVerdict } from './toolStarReward.ts';

const END = '<|end|>';
const respond = (box: string) => `<think>a</think><answer>\\boxed{${box}}</answer>${END}`;

describe('the verdict on a mathematical answer', () => {
  test('rewards a right answer in full, and a good format a little', () => {
    expect(mathVerdict(respond('12'), '12', paperTools, END).score).toBe(1);
    expect(mathVerdict(respond('13'), '12', paperTools, END).score).toBe(0.1);
  });

  test('is 0 for a bad format, and for a response that ran out of tokens', () => {
    expect(mathVerdict('12', '12', paperTools, END).score).toBe(0);
    expect(mathVerdict(respond('12').replace(END, ''), '12', paperTools, END).score).toBe(0);
  });
});

describe('the comparison of answers', () => {
  test.each([
    ['11.0', '11', true, 'numbers'],
    ['6\\%', '6', true, 'numbers'],
    ['13,102', '13102', true, 'numbers'],
    ['1.875', '\\frac{15}{8}', true, 'numbers'],
    ['25 \\text{ cm}', '25', true, 'numbers'],
    ['CANYON', 'canyon', true, 'text'],
    ['\\text{falcon}', 'falcon', true, 'form'],
    ['x(5+x)', 'x^2+5x', false, 'nothing'],
  ])('is right for %j and %j', (answer, reference, same, basis) => {
    expect(compareAnswers(answer, reference)).toEqual({ same, basis });
  });
});

test('the turn of the assistant is what follows its marker', () => {
  expect(assistantTurn('User: hi\nAssistant:yes')).toBe('yes');
  expect(assistantTurn('nothing')).toBeNull();
});
