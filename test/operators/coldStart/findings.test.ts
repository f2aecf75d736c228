import { describe, expect, test } from '@jest/globals';
import { coldStartFindings, difficultyOf } from '../../../operators/coldStart/findings.ts';
import { filterPool } from '../../../operators/demonstrations.ts';
import type { Evolved } from '../../../topics/index.ts';
import { paperTools } from '../../support/paperTools.ts';
import { question } from '../../support/records.ts';

const answer = '<answer>\\boxed{7}</answer>';
const search = (...queries: readonly string[]): string =>
  `${queries.map((query) => `<think>a</think><search>${query}</search><result>b</result>`).join('')}<think>c</think>${answer}`;

/** `direct+` = a direct answer that is right; `tools-2` = a wrong one with two different calls. */
function pool(...members: readonly (string | Partial<Evolved>)[]): Evolved[] {
  return members.map((member, index) => {
    const [, action = '', sign, calls = '0'] =
      typeof member === 'string' ? (/^([a-z-]+?)([+-])(\d*)$/.exec(member) ?? []) : [];
    const toolCalls = Number(calls);
    const queries = Array.from({ length: toolCalls }, (_, i) => `q${index}${i}`);
    return {
      question: question({ id: 'q1', phase: 'evolve' }),
      round: 0,
      parent: -1,
      index,
      of: members.length,
      version: 0,
      action,
      correct: sign === '+',
      toolCalls,
      text: search(...queries),
      ...(typeof member === 'string' ? {} : { correct: true, action: 'tools', ...member }),
    };
  });
}

describe('the difficulty of a question', () => {
  test.each([
    ['easy', ['direct+', 'tools-1']],
    ['easy', ['direct+', 'tools+1', 'verify-hint+1']],
    ['easy', ['direct+', 'direct+']],
    ['medium', ['direct+', 'direct-', 'tools+1']],
    ['medium', ['direct-', 'tools-2', 'tools+1']],
    ['medium', ['direct-', 'tools-1', 'reflect-hint+2']],
    ['medium', ['tools+1']],
    // It called nothing: luck.
    ['hard', ['direct-', 'tools+0']],
    ['hard', ['direct-', 'tools-1', 'verify-hint-1']],
    ['hard', []],
  ])('is %s for %j', (difficulty, members) => {
    expect(difficultyOf(pool(...members))).toBe(difficulty);
  });
});

describe('the pool kept', () => {
  const kept = (members: Evolved[], perQuestion = 9) =>
    filterPool(members, {
      tools: { tags: paperTools },
      find: coldStartFindings,
      callsMax: 5,
      perQuestion,
    });

  test('of an easy question is the direct answer alone', () => {
    const filtered = kept(pool('direct+', 'tools+1', 'verify-hint+1'));
    expect(filtered.difficulty).toBe('easy');
    expect(filtered.kept.map(({ action }) => action)).toEqual(['direct']);
    expect(filtered.dropped.map(({ why }) => why)).toEqual(Array(2).fill('no tool was needed'));
  });

  test('of a medium question is at most five right trajectories with tools, without repeated calls', () => {
    const members = pool(
      'direct-',
      'tools+5',
      'tools+6',
      'verify-hint+0',
      { text: search('x', 'y', ' x '), toolCalls: 3 },
      { action: 'reflect-hint', text: search('x', 'y'), toolCalls: 2 },
    );
    const filtered = kept(members);
    expect(filtered.difficulty).toBe('medium');
    expect(filtered.kept.map(({ index }) => index)).toEqual([5, 1]);
    expect(filtered.dropped).toEqual([
      { index: 0, why: 'wrong' },
      { index: 2, why: '6 calls' },
      { index: 3, why: 'no call' },
      { index: 4, why: 'repeated call' },
    ]);
  });

  test('of a hard question is empty, even if a direct answer was right once', () => {
    const filtered = kept(pool('direct+', 'direct-', 'tools-1'));
    expect(filtered).toMatchObject({ difficulty: 'hard', kept: [] });
    expect(filtered.dropped[0]).toEqual({ index: 0, why: 'not always right' });
  });
});
