/** The keyboard as a machine of its own: key presses in, names of actions out. A sequence such as `g o` is two presses. */

/** What a press is, as the browser tells it, and where it fell. */
export interface Press {
  readonly key: string;
  /** Control, Alt or Meta is down. */
  readonly modified: boolean;
  readonly repeat: boolean;
  /** The focus is in a field that takes text, or in another control that has these keys for itself. */
  readonly typing: boolean;
}

type KeyHelp = readonly [keys: string, does: string];

/** Every key of the page, as the list behind `?` shows it. */
export const keyHelp: readonly (readonly [string, readonly KeyHelp[]])[] = [
  [
    'Go to',
    [
      ['g o', 'overview'],
      ['g m', 'metrics'],
      ['g t', 'topics'],
      ['g p', 'Pareto'],
      ['g w', 'weights'],
      ['g d', 'diff'],
      ['g r', 'replay'],
      ['g s', 'results, in a report'],
    ],
  ],
  [
    'Move',
    [
      ['j k', 'next, previous turn or row'],
      ['n p', 'next, previous rollout of the group'],
      ['N P', 'next, previous group'],
      ['h l', 'parent, child branch'],
      ['g g', 'first'],
      ['G', 'last'],
    ],
  ],
  [
    'Look',
    [
      ['e', 'paint entropy, log-prob, version, nothing'],
      ['x', 'open or close the tool result'],
      ['f', 'follow the newest records'],
      ['[ ]', 'one step back, forward in time'],
      ['\\', 'back to live'],
      ['/', 'filter; Esc leaves it'],
    ],
  ],
  [
    'Take along',
    [
      ['y', 'copy a link to exactly this view'],
      ['c', 'copy the command that shows the same'],
      ['?', 'this list'],
    ],
  ],
];

const actions: Readonly<Record<string, Action>> = {
  'g o': 'overview',
  'g m': 'metrics',
  'g t': 'topics',
  'g p': 'pareto',
  'g w': 'weights',
  'g d': 'diff',
  'g r': 'replay',
  'g s': 'results',
  'g g': 'first',
  G: 'last',
  j: 'next',
  k: 'previous',
  n: 'nextRollout',
  p: 'previousRollout',
  N: 'nextGroup',
  P: 'previousGroup',
  h: 'parent',
  l: 'child',
  e: 'paint',
  x: 'toggle',
  f: 'follow',
  '[': 'stepBack',
  ']': 'stepForward',
  '\\': 'live',
  '/': 'filter',
  y: 'copyLink',
  c: 'copyCommand',
  '?': 'help',
};

export type Action =
  | 'overview'
  | 'metrics'
  | 'topics'
  | 'pareto'
  | 'weights'
  | 'diff'
  | 'replay'
  | 'results'
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
