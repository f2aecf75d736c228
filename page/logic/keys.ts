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

export interface KeyHelp {
  readonly keys: string;
  readonly does: string;
}

/** Every key of the page, as the list behind `?` shows it. */
export const keyHelp: readonly (readonly [string, readonly KeyHelp[]])[] = [
  [
    'Go to',
    [
      { keys: 'g o', does: 'overview' },
      { keys: 'g m', does: 'metrics' },
      { keys: 'g t', does: 'topics' },
      { keys: 'g p', does: 'Pareto' },
      { keys: 'g w', does: 'weights' },
      { keys: 'g d', does: 'diff' },
      { keys: 'g r', does: 'replay' },
      { keys: 'g s', does: 'results, in a report' },
    ],
  ],
  [
    'Move',
    [
      { keys: 'j k', does: 'next, previous turn or row' },
      { keys: 'n p', does: 'next, previous rollout of the group' },
      { keys: 'N P', does: 'next, previous group' },
      { keys: 'h l', does: 'parent, child branch' },
      { keys: 'g g', does: 'first' },
      { keys: 'G', does: 'last' },
    ],
  ],
  [
    'Look',
    [
      { keys: 'e', does: 'paint entropy, log-prob, version, nothing' },
      { keys: 'x', does: 'open or close the tool result' },
      { keys: 'f', does: 'follow the newest records' },
      { keys: '[ ]', does: 'one step back, forward in time' },
      { keys: '\\', does: 'back to live' },
      { keys: '/', does: 'filter; Esc leaves it' },
    ],
  ],
  [
    'Take along',
    [
      { keys: 'y', does: 'copy a link to exactly this view' },
      { keys: 'c', does: 'copy the command that shows the same' },
      { keys: '?', does: 'this list' },
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
