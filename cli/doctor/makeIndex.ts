/** `millrace doctor RUN --index`: rebuilds the index by key of a run from its records. */
import { indexLog } from '../../streams/embedded/keys/index.ts';
import { allTopics } from '../../topics/index.ts';
import { usageError } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { tenths } from '../parts.ts';
import { logFolder, type Run } from '../runs.ts';

/** False if interrupted: a search by key then reads records without an index. */
export async function makeIndex(run: Run, io: Io): Promise<boolean> {
  if (run.record.log !== undefined) {
    throw usageError(`run ${run.name} is on Kafka, which has no index by key`);
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
