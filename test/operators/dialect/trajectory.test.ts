import { describe, expect, test } from '@jest/globals';
import { lastBoxed } from '../../../base/text/boxed.ts';
import { splitActions } from '../../../operators/dialect/actions.ts';
import { extractAnswer } from '../../../operators/dialect/answer.ts';
import { formatFault, isWellFormed } from '../../../operators/dialect/format.ts';
import { splitLogs } from '../../../operators/dialect/logs.ts';
import { repairHintPosition } from '../../../operators/dialect/repair.ts';
import { countFailedResults } from '../../../operators/dialect/results.ts';
import { closedSteps, splitSteps } from '../../../operators/dialect/steps.ts';
import { blocks, countPairs, countToolCalls } from '../../../operators/dialect/tags.ts';
import { priorReasoning } from '../../../operators/tools/web/priorReasoning.ts';
import { tagSolution, thinkingText } from '../../oracles/trajectory.ts';
import { paperTools } from '../../support/paperTools.ts';

const GOOD =
  '<think>who?</think><search>who</search> <result>\nme\n</result>' +
  '<think>so</think><answer>It is \\boxed{me}</answer>';

describe('tags of a trajectory', () => {
  test('are paired from left to right without nesting', () => {
    expect(countPairs('<python><python></python></python>', 'python')).toBe(1);
    expect(countPairs('</search><search>', 'search')).toBe(0);
  });

  test('count the calls of all tools, or of named ones', () => {
    const text = '<search>a</search><python>b</python><lookup>c</lookup>';
    expect(countToolCalls(text, paperTools)).toBe(2);
    expect(countToolCalls(text, ['lookup'])).toBe(1);
  });

  test('enclose blocks with known positions', () => {
    const [block] = blocks('ab<x>cd</x>e', 'x');
    expect(block).toEqual({ inner: 'cd', start: 2, end: 11 });
  });
});

describe('the format check', () => {
  test('finds no fault in a well-formed trajectory, in any variant', () => {
    expect(formatFault(GOOD, 'reward', paperTools)).toBeNull();
    expect(formatFault(GOOD, 'rollout', paperTools)).toBeNull();
    expect(formatFault(GOOD, 'selection', paperTools)).toBeNull();
  });

  test('reports only the first fault', () => {
    expect(formatFault(GOOD.replace('</think>', ''), 'reward', paperTools)).toBe('unpaired-think');
    expect(formatFault('<answer>\\boxed{1}</answer>', 'reward', paperTools)).toBe('no-think');
    expect(formatFault(GOOD.replace('</result>', ''), 'reward', paperTools)).toBe(
      'search-incomplete',
    );
    expect(formatFault(GOOD.replace('\\boxed{me}', 'me'), 'reward', paperTools)).toBe('no-box');
  });

  test('lets one result serve a search and a Python call', () => {
    const shared = '<think>a</think><search>a</search><python>b</python><result>c</result>';
    expect(formatFault(`${shared}<answer>\\boxed{1}</answer>`, 'reward', paperTools)).toBeNull();
  });

  test('is stricter about edges and answer when selecting training data', () => {
    expect(isWellFormed(`so ${GOOD}`, 'reward', paperTools)).toBe(true);
    expect(formatFault(`so ${GOOD}`, 'selection', paperTools)).toBe('start-not-think');
    expect(formatFault(`${GOOD}.`, 'selection', paperTools)).toBe('end-not-answer');
    expect(formatFault(GOOD.replace('It is', '<think></think>'), 'selection', paperTools)).toBe(
      'tag-in-answer',
    );
  });
});

describe('the answer of a trajectory', () => {
  test.each([
    ['<answer>plain</answer>', 'plain'],
    ['<answer>x \\boxed{\\text{A b}}</answer>', 'A b'],
    ['<answer></answer> \\boxed{4}', '4'],
    ['\\boxed{un{bal', '\\boxed{un{bal'],
    ['<answer>\\fbox{z}</answer>', '\\fbox{z}'],
    ['no answer', ''],
  ])('in a rollout is read from %j', (text, answer) => {
    expect(extractAnswer(text, 'rollout')).toBe(answer);
  });

  test('is not read from an unclosed box by the reward', () => {
    expect(lastBoxed('a \\boxed{b', 'reward')).toBeNull();
    expect(lastBoxed('a \\boxed{b', 'selection')).toBe('\\boxed{b');
  });

  test('is read from the spaced form by the reward', () => {
    expect(lastBoxed('x \\boxed 5$ y', 'reward')).toBe('\\boxed 5');
  });
});

describe('a trajectory of steps and actions', () => {
  test('is the concatenation of its steps', () => {
    expect(splitSteps(GOOD).join('')).toBe(GOOD);
    expect(closedSteps(GOOD)).toHaveLength(1);
  });

  test('is logged by call and by what follows it', () => {
    expect(
      splitLogs('<think>A</think> <search>q1</search><result>r1</result> ', paperTools),
    ).toEqual(['<think>A</think> <search>q1</search>', '<result>r1</result>']);
  });

  test('gives a call without a result the next one', () => {
    const text = '<search>a</search> mid <python>z</python><result>b</result>';
    expect(splitActions(text, paperTools)).toEqual(['<search>a</search> <result>b</result>']);
  });

  test('keeps its first step, its searches and its end when shortened', () => {
    const logs = ['a', '<python>b</python>', '<result>c</result>', 'd', 'e', 'f', 'g', 'h'];
    expect(priorReasoning(logs)).toBe(
      'Step 1: a\n\n...\n\nStep 5: e\n\nStep 6: f\n\nStep 7: g\n\nStep 8: h',
    );
    expect(() => priorReasoning([])).toThrow('no log piece');
  });
});

describe('results in a trajectory', () => {
  test('count as failed if empty, timed out or erroneous', () => {
    const text = ['', 'Execution Timeout', 'NameError: x', 'fine']
      .map((result) => `<result>${result}</result>`)
      .join('');
    expect(countFailedResults(text)).toBe(3);
  });

  test('can be removed without the text of the policy', () => {
    expect(thinkingText('a<result>b</result>c<result>d')).toBe('ac');
  });
});

describe('a repair', () => {
  test('gives a hint after a result its thinking tag', () => {
    const text = '<think>a</think><search>b</search><result>c</result> Wait.';
    expect(repairHintPosition(text, ' Wait.')).toContain('</result><think> Wait.');
  });

  test('makes a well-formed trajectory of a plain solution', () => {
    const tagged = tagSolution(
      'Compute.\n<python>1</python>\n<result>1</result>\nSo\n\\boxed{1}',
      'python',
    );
    expect(tagged).not.toBeNull();
    expect(formatFault(tagged!, 'selection', paperTools)).toBeNull();
  });

  test('removes white space at the end before it closes an answer', () => {
    expect(tagSolution('<think>a</think><answer>\\boxed{1} \t\u00a0\n', 'python')).toBe(
      '<think>a</think></think><answer>\\boxed{1}</answer>',
    );
  });

  test('finds no place for an answer in a solution of one line', () => {
    expect(tagSolution('\\boxed{1}', 'python')).toBeNull();
  });
});
