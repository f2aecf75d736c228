/** The run as the twin of the view tells it, for the head of the page until the stream says something newer. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { OfRun, RunHead } from '../../wire/index.ts';

export const shownHead = signal<RunHead | null>(null);

export function useHead(twin: OfRun | null): void {
  useEffect(() => {
    if (twin !== null) shownHead.value = twin.run;
  }, [twin]);
}
