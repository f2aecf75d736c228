/** The keyboard of the page: presses become actions, and the newest view that knows an action performs it. */
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { type Action, type KeyState, noKeys, pressed } from '../logic/keys.ts';

export type Does = Partial<Record<Action, () => void>>;

const stored = 'millrace.keys';

function readLetters(): boolean {
  try {
    return localStorage.getItem(stored) !== 'off';
  } catch {
    return true;
  }
}

/** Whether single letters act; a switch in the list of keys turns them off. */
export const lettersOn = signal(readLetters());

export function setLetters(on: boolean): void {
  lettersOn.value = on;
  try {
    localStorage.setItem(stored, on ? 'on' : 'off');
  } catch {
    // Without storage it holds until the page is closed.
  }
}

const views: { readonly current: Does }[] = [];
let state: KeyState = noKeys;

/** While the component is there, its actions come before those of the views around it. */
export function useKeys(does: Does): void {
  const latest = useRef(does);
  latest.current = does;
  useEffect(() => {
    views.push(latest);
    return () => {
      views.splice(views.indexOf(latest), 1);
    };
  }, []);
}

const taking =
  'input:not([type="checkbox"]):not([type="radio"]), textarea, select, [contenteditable]';

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || document.hidden) return;
  const target = event.target as Element | null;
  const typing = target?.matches?.(taking) ?? false;
  if (typing && event.key === 'Escape') (target as HTMLElement).blur();
  const open = document.querySelector('dialog[open]') !== null;
  state = pressed(
    state,
    {
      key: event.key,
      modified: event.ctrlKey || event.metaKey || event.altKey,
      repeat: event.repeat,
      typing: typing || open,
    },
    lettersOn.value,
  );
  if (state.action === null) return;
  for (const view of [...views].reverse()) {
    const act = view.current[state.action];
    if (act === undefined) continue;
    event.preventDefault();
    act();
    return;
  }
});
