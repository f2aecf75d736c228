/**
 * For a process that runs part of a run that another one leads, or follows it: a signal that aborts once
 * `run.json` says that it has ended.
 */
import type { RunStatus } from '../summary/facts/index.ts';
import { readRunRecord } from './runRecord.ts';

const LOOK_MS = 1000;

export interface DoneSignal {
  readonly signal: AbortSignal;
  /** Stops looking. */
  release(): void;
}

/** `ends`: the status to wait for. */
export function doneSignal(folder: string, ends: readonly RunStatus[] = ['done']): DoneSignal {
  const controller = new AbortController();
  const looking = setInterval(() => {
    readRunRecord(folder).then(
      (record) => {
        if (record !== null && ends.includes(record.status)) controller.abort();
      },
      () => undefined, // it may be readable next time
    );
  }, LOOK_MS);
  return { signal: controller.signal, release: () => clearInterval(looking) };
}
