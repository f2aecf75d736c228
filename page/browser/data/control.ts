/**
 * What may be changed from here: nothing, unless the server was started with `--control` and its second token
 * was typed in, which is kept in this page's memory alone.
 */
import { signal } from '@preact/signals';
import type { ControlData, ControlSaid, ErrorBody } from '../../wire/index.ts';
import { frozen } from './frozen.ts';
import { say } from './take.ts';

/** Null until the server has said. */
export const control = signal<ControlData | null>(null);
export const token = signal('');

const LOOK_MS = 1000;
let looking: ReturnType<typeof setTimeout> | undefined;

/** Asks what the server takes; again and again while it recomputes something. */
export async function lookControl(): Promise<void> {
  if (frozen !== null) return;
  clearTimeout(looking);
  try {
    const response = await fetch('/control.json');
    if (response.ok) control.value = (await response.json()) as ControlData;
  } catch {
    // The stream says when a server is away.
  }
  if (control.value?.job?.state === 'running') looking = setTimeout(lookControl, LOOK_MS);
}

export async function ask(
  path: 'admission' | 'verify' | 'replay',
  body: Readonly<Record<string, unknown>>,
): Promise<void> {
  try {
    const response = await fetch(`/control/${path}`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'X-Millrace': '1',
        'X-Millrace-Control': token.value,
      },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as ErrorBody | ControlSaid | ControlData;
    if ('error' in answer) {
      if (answer.error.code === 'CONTROL') token.value = '';
      say(answer.error.message);
    } else if ('said' in answer) say(answer.said);
    else await lookControl();
  } catch (error) {
    say(String(error));
  }
}
