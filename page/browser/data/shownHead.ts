/**
 * From the data of the view: the run, for the head of the page until the stream says something newer, and the
 * command that `c` copies.
 */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { OfRun, RunHead } from '../../wire/index.ts';
import { command } from './take.ts';

export const shownHead = signal<RunHead | null>(null);

export function useHead(data: OfRun | null): void {
  useEffect(() => {
    if (data !== null) shownHead.value = data.run;
    command.value = data?.command ?? '';
  }, [data]);
}
