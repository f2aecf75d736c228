/** The keyboard: sequences, and when single letters do nothing. */
import { describe, expect, test } from '@jest/globals';
import {
  type KeyState,
  keyHelp,
  noKeys,
  type Press,
  pressed,
} from '../../../page/browser/logic/keys.ts';

function press(key: string, over: Partial<Press> = {}): Press {
  return { key, modified: false, repeat: false, typing: false, ...over };
}

function typed(keys: readonly Press[]): KeyState['action'][] {
  let state = noKeys;
  return keys.map((key) => {
    state = pressed(state, key, true);
    return state.action;
  });
}

describe('keyboard shortcuts', () => {
  test('work alone or after g', () => {
    expect(typed([press('j'), press('g'), press('m'), press('m')])).toEqual([
      'next',
      null,
      'metrics',
      null,
    ]);
  });

  test('go to the first by g g, where a g that is held down counts once', () => {
    expect(typed([press('g'), press('g')])).toEqual([null, 'first']);
    const held = { repeat: true };
    expect(typed([press('g'), press('g', held), press('g', held), press('g')])).toEqual([
      null,
      null,
      null,
      'first',
    ]);
  });

  test('do nothing while the reader types, with a modifier, or when switched off', () => {
    expect(typed([press('j', { typing: true }), press('j', { modified: true })])).toEqual([
      null,
      null,
    ]);
    expect(pressed(noKeys, press('j'), false).action).toBeNull();
    expect(pressed(noKeys, press('Escape', { typing: true }), false).action).toBe('leave');
  });

  test('forget the first key if no second follows', () => {
    expect(typed([press('g'), press('z'), press('o')])).toEqual([null, null, null]);
  });

  test('all work as listed', () => {
    for (const [keys] of keyHelp.flatMap(([, keys]) => keys)) {
      const parts = keys.split(' ');
      const sequence = parts[0] === 'g' ? [parts] : parts.map((key) => [key]);
      for (const one of sequence) expect(typed(one.map((key) => press(key))).at(-1)).not.toBeNull();
    }
  });
});
