/** `millrace doctor RUN --index`: makes the index by key of a run again, from its records. */
import { indexLog } from '../../streams/embedded/keys/indexLog.ts';
import { usageError } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { logFolder, type Run } from '../runs.ts';

/** Told so often on the way. */
const PARTS = 10;

/** False when it was interrupted: what has no index yet is read by who looks for a key. */
export async function makeIndex(run: Run, io: Io): Promise<boolean> {
  if (run.record.log !== undefined) {
    throw usageError(`the records of ${run.name} are on Kafka, which keeps no index by key`);
  }
  const interrupted = interruption(io, null);
  let told = 0;
  const progress = (done: number, all: number): void => {
    const part = Math.floor((PARTS * done) / all);
    if (part === told) return;
    told = part;
    io.err(`index by key: ${done.toLocaleString('en')} of ${all.toLocaleString('en')} records`);
  };
  try {
    await indexLog(logFolder(run.folder), { progress, signal: interrupted.signal });
    return !interrupted.signal.aborted;
  } finally {
    interrupted.release();
  }
}
