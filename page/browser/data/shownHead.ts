/**
 * The run from the data of the view, for the head of the page until the stream says something newer.
 */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { OfRun, RunHead } from '../../wire/index.ts';

export const shownHead = signal<RunHead | null>(null);

export function useHead(data: OfRun | null): void {
  useEffect(() => {
    if (data !== null) shownHead.value = data.run;
  }, [data]);
}
