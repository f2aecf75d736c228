/**
 * The log of a run on this machine, open to read. For a run on Kafka it is a copy, made next to the run and
 * removed when no longer needed: unlike a broker, a copy shows the run at one moment.
 */

import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { scratchName } from '../base/index.ts';
import { openLog } from '../streams/embedded/index.ts';
import { environmentFor } from '../streams/foreign/index.ts';
import type { Log } from '../streams/index.ts';
import { allTopics } from '../topics/index.ts';
import type { Io } from './io.ts';
import { logFolder, type Run } from './runs.ts';
import { inScratch, type Scratch } from './scratch.ts';

export interface LocalLog {
  readonly log: Log;
  /** Folder of the log. */
  readonly folder: string;
  /**
   * How far a group read ahead, if that may be more than one reader of one partition can (`copyRun.ts`).
   */
  readonly ahead?: (topic: string, group: string) => number;
}

export async function withLocalLog<T>(
  run: Run,
  { io, scratch }: { readonly io: Io; readonly scratch: Scratch },
  use: (at: LocalLog) => Promise<T>,
): Promise<T> {
  const { log: url, cluster } = run.record;
  if (url === undefined) return opened({ folder: logFolder(run.folder) }, use);
  const folder = join(dirname(run.folder), scratchName('past', run.name));
  return inScratch(scratch, folder, async () => {
    await mkdir(folder, { mode: 0o700 });
    io.err(`copying the records of run ${run.name} from Kafka`);
    // Loaded when it is needed: most runs need no Kafka.
    const { copyRun } = await import('../streams/kafka/index.ts');
    const notice = (line: string): void => io.err(line);
    const { ahead } = await copyRun({
      topics: allTopics,
      ...{ url, run: run.name, folder, env: environmentFor(url, process.env), notice },
      logFolder: logFolder(run.folder),
      ...(cluster === undefined ? {} : { cluster }),
    });
    return opened({ folder, ahead }, use);
  });
}

async function opened<T>(at: Omit<LocalLog, 'log'>, use: (at: LocalLog) => Promise<T>): Promise<T> {
  const log = await openLog({ folder: at.folder, mode: 'read' });
  try {
    return await use({ ...at, log });
  } finally {
    await log.close();
  }
}
