import { describe, expect, test } from '@jest/globals';
import { agreement } from '../../../operators/metrics/sample.ts';
import { isEquivalent, LatexError, latexNormalForm } from '../../../operators/text/latex.ts';
import { plainWords, rewardF1, rolloutF1, wordF1 } from '../../../operators/text/overlap.ts';

describe('the equivalence', () => {
  test.each([
    ['\\frac12', '\\frac{1}{2}', true],
    ['0.5', '1/2', true],
    ['x=3', '3', true],
    ['abc=3', '3', false],
    ['3\\text{ cm}', '3', true],
    ['3\\text{cm}', '3', false],
    ['10\\%', '10', true],
    ['\\sqrt3', '\\sqrt{3}', true],
    ['90^\\circ', '90', true],
    ['\\frac', '\\frac', true],
    ['-1/2', '-\\frac{1}{2}', false],
  ])('of %j and %j is %p', (a, b, equal) => {
    expect(isEquivalent(a, b, 'reward')).toBe(equal);
  });

  test('in the selection dialect ignores units without a space too', () => {
    expect(isEquivalent('3\\text{cm}', '3', 'selection')).toBe(true);
  });

  test('of a missing answer holds only with a missing answer', () => {
    expect(isEquivalent(null, null, 'reward')).toBe(true);
    expect(isEquivalent(null, '', 'reward')).toBe(false);
  });
});

test('a text without a normal form has a reason', () => {
  expect(() => latexNormalForm('\\sqrt', 'reward')).toThrow(LatexError);
});

describe('F1', () => {
  test('of a rollout compares plain words, and takes the best reference', () => {
    expect(rolloutF1('New York City', ['york', 'new york'])).toBeCloseTo(0.8);
    expect(rolloutF1(null, [''])).toBe(0);
  });

  test('of an evaluation keeps punctuation and drops articles for questions of knowledge', () => {
    expect(agreement('the cat,', ['cat'], 'qa').f1).toBe(0);
    expect(agreement('the cat', ['cat'], 'qa').f1).toBe(1);
    expect(agreement('the cat', ['cat'], 'math').f1).toBeCloseTo(2 / 3);
  });

  test('of a reward is all or nothing', () => {
    expect(rewardF1('The New York', ['new york'])).toBe(1);
    expect(rewardF1('New York City', ['new york'])).toBe(0);
    expect(rewardF1('', [''])).toBe(0);
  });

  test('counts a repeated word as often as the rarer side has it', () => {
    expect(wordF1(plainWords('a very, very big'), plainWords('very small'))).toBeCloseTo(0.4);
  });
});
