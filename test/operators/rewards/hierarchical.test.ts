import { describe, expect, test } from '@jest/globals';
import { type HierarchicalOptions, hierarchical } from '../../../operators/rewards/hierarchical.ts';
import { paperTools } from '../../support/paperTools.ts';
import { question } from '../../support/records.ts';

const asked = question({ ability: 'qa', answers: ['the Eiffel Tower', 'La Tour'] });
const call = (tool: string) => `<${tool}>x</${tool}> <result>\ny\n</result>`;
const said = (answer: string, ...calls: readonly string[]): string =>
  `<think>a</think>${calls.join('')}<answer>\\boxed{${answer}}</answer>`;
const score = (text: string, options?: HierarchicalOptions, tools = paperTools) =>
  hierarchical(options)({ question: asked, tools, texts: [text], lengths: [1] })[0]!;

describe('the hierarchical reward', () => {
  test.each([
    ['right with both tools', said('Eiffel Tower', call('search'), call('python')), 1.1],
    ['right with one', said('eiffel tower', call('search')), 1],
    ['right with none', said('La Tour'), 1],
    ['partly right with both', said('Tower', call('search'), call('python')), 2 / 3 + 0.1],
    ['wrong with both', said('Louvre', call('search'), call('python')), 0],
    ['wrong', said('Louvre'), 0],
    ['right in bad form', 'no tags at all \\boxed{La Tour}', -1],
    ['right with a call that has no result', said('La Tour', '<search>x</search>'), -1],
  ])('of an answer that is %s has the published value', (_, text, expected) => {
    expect(score(text).score).toBeCloseTo(expected, 12);
  });

  test('has its parts recorded', () => {
    expect(score(said('La Tour', call('search'), call('python'))).parts) //
      .toEqual({ raw: 1, tools: 0.1, format: 0 });
    expect(score(`${said('La Tour')}<answer>`).parts).toEqual({ raw: 1, tools: 0, format: -1 });
  });

  test('counts any two tools of the job, and no other tag', () => {
    const three = ['search', 'python', 'calculator'];
    const two = said('La Tour', call('calculator'), call('search'));
    expect(score(two, {}, three).score).toBe(1.1);
    expect(score(two).score).toBe(1);
    expect(score(said('La Tour', call('search'), call('search')), {}, three).score).toBe(1);
    expect(score(said('La Tour', '<calculator>1'), {}, three).score).toBe(-1);
  });

  test('takes another bonus, and exact matching', () => {
    expect(score(said('La Tour', call('search'), call('python')), { bonus: 0.5 }).score).toBe(1.5);
    expect(score(said('Tower'), { knowledge: 'match' }).score).toBe(0);
  });
});
