/**
 * The keyboard as a machine of its own: key presses in, names of actions out. A sequence such as `g o` is two
 * presses.
 */

import { type RunPage, runPages, runViews } from '../../wire/index.ts';

/** What a press is, as the browser reports it, and where it fell. */
export interface Press {
  readonly key: string;
  /** Control, Alt or Meta is down. */
  readonly modified: boolean;
  readonly repeat: boolean;
  /** The focus is in a field that takes text, or in another control that has these keys for itself. */
  readonly typing: boolean;
}

export type Action =
  | RunPage
  | 'diff'
  | 'first'
  | 'last'
  | 'next'
  | 'previous'
  | 'nextRollout'
  | 'previousRollout'
  | 'nextGroup'
  | 'previousGroup'
  | 'parent'
  | 'child'
  | 'paint'
  | 'toggle'
  | 'follow'
  | 'stepBack'
  | 'stepForward'
  | 'live'
  | 'filter'
  | 'copyLink'
  | 'copyCommand'
  | 'help'
  | 'leave';

type Keys = readonly [keys: Readonly<Record<string, Action>>, does: string];

function keysOf(page: RunPage): Keys[] {
  const { key, about = page } = runViews[page];
  return key === undefined ? [] : [[{ [`g ${key}`]: page }, about]];
}

const all: readonly (readonly [title: string, keys: readonly Keys[]])[] = [
  ['Go to', [...runPages.flatMap(keysOf), [{ 'g d': 'diff' }, 'diff']]],
  [
    'Move',
    [
      [{ j: 'next', k: 'previous' }, 'next, previous turn or row'],
      [{ n: 'nextRollout', p: 'previousRollout' }, 'next, previous rollout of the group'],
      [{ N: 'nextGroup', P: 'previousGroup' }, 'next, previous group'],
      [{ h: 'parent', l: 'child' }, 'parent, child branch'],
      [{ 'g g': 'first' }, 'first'],
      [{ G: 'last' }, 'last'],
    ],
  ],
  [
    'Look',
    [
      [{ e: 'paint' }, 'colour by entropy, log-prob, version or nothing'],
      [{ x: 'toggle' }, 'open or close the tool result'],
      [{ f: 'follow' }, 'follow the newest records'],
      [{ '[': 'stepBack', ']': 'stepForward' }, 'one step back, forward in time'],
      [{ '\\': 'live' }, 'back to live'],
      [{ '/': 'filter' }, 'filter; Esc to leave it'],
    ],
  ],
  [
    'Copy',
    [
      [{ y: 'copyLink' }, 'copy a link to exactly this view'],
      [{ c: 'copyCommand' }, 'copy the command that shows the same'],
      [{ '?': 'help' }, 'this help'],
    ],
  ],
];

/** Every key of the page, as the list under `?` shows it. */
export const keyHelp = all.map(
  ([title, keys]) =>
    [title, keys.map(([names, does]) => [Object.keys(names).join(' '), does] as const)] as const,
);

const actions: Readonly<Record<string, Action>> = Object.assign(
  {},
  ...all.flatMap(([, keys]) => keys.map(([names]) => names)),
);

export interface KeyState {
  /** A first key that waits for its second; empty for none. */
  readonly pending: string;
  readonly action: Action | null;
}

export const noKeys: KeyState = { pending: '', action: null };

/** `Escape` always acts; single letters never while one types, holds a modifier or has switched them off. */
export function pressed(state: KeyState, press: Press, lettersOn: boolean): KeyState {
  if (press.key === 'Escape') return { pending: '', action: 'leave' };
  if (press.modified || press.typing || !lettersOn || press.key.length !== 1) return noKeys;
  if (press.key === 'g') {
    if (state.pending === 'g') {
      return press.repeat ? state : { pending: '', action: 'first' };
    }
    return { pending: 'g', action: null };
  }
  const sequence = state.pending === '' ? press.key : `${state.pending} ${press.key}`;
  return { pending: '', action: actions[sequence] ?? null };
}
