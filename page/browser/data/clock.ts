/**
 * The server's time, once a second while the page can be seen: for ages, which are of times that the server
 * wrote.
 */
import { signal } from '@preact/signals';
import { frozen } from './frozen.ts';

let offsetMs = 0;

export const nowMs = signal(frozen?.frozenMs ?? Date.now());

/** Any answer of the server says what time it is there. */
export function heardTime(serverMs: number): void {
  if (frozen !== null) return;
  offsetMs = serverMs - Date.now();
  nowMs.value = serverMs;
}

if (frozen === null) {
  setInterval(() => {
    if (!document.hidden) nowMs.value = Date.now() + offsetMs;
  }, 1000);
}
