/** `millrace doctor RUN --index`: makes the index by key of a run again, from its records. */
import { indexLog } from '../../streams/embedded/keys/indexLog.ts';
import { allTopics } from '../../topics/index.ts';
import { usageError } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { tenths } from '../parts.ts';
import { logFolder, type Run } from '../runs.ts';

/** False when it was interrupted: what has no index yet is read by who looks for a key. */
export async function makeIndex(run: Run, io: Io): Promise<boolean> {
  if (run.record.log !== undefined) {
    throw usageError(`the records of ${run.name} are on Kafka, which keeps no index by key`);
  }
  const interrupted = interruption(io, null);
  const progress = tenths('index by key', io);
  try {
    await indexLog(logFolder(run.folder), allTopics, { progress, signal: interrupted.signal });
    return !interrupted.signal.aborted;
  } finally {
    interrupted.release();
  }
}
