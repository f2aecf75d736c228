/** For a process that runs a part of a run that another one leads: a signal that aborts once `run.json` says it is done. */
import { readRunRecord } from './runRecord.ts';

const LOOK_MS = 1000;

export interface DoneSignal {
  readonly signal: AbortSignal;
  /** Looks no more. */
  release(): void;
}

export function doneSignal(folder: string, lookMs = LOOK_MS): DoneSignal {
  const controller = new AbortController();
  const looking = setInterval(() => {
    readRunRecord(folder).then(
      (record) => {
        if (record?.status === 'done') controller.abort();
      },
      () => undefined, // it may be readable next time
    );
  }, lookMs);
  return { signal: controller.signal, release: () => clearInterval(looking) };
}
