/** Builds a job in a temporary folder, for commands that examine its start and run nothing. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canWrite, scratchName } from '../base/index.ts';
import type { Job, JobContext } from '../jobs/index.ts';
import { openLog } from '../streams/embedded/index.ts';
import { stoppable } from './interruption.ts';
import type { Io } from './io.ts';
import { logFolder } from './runs.ts';
import { inScratch } from './scratch.ts';

/** What to build. */
export interface Scratch {
  readonly job: Job;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly seed: number;
  /** The folder of runs: servers that can read a run's folder can read this one too. */
  readonly runs: string;
}

/** Where a job reports its progress; a report may throw to end the building. */
export type Hooks = Pick<JobContext<unknown>, 'prompted' | 'opened' | 'forked'>;

/** Once this settles, everything the job opened is closed and the folder is gone. */
export async function scratchBuild(
  { job, settings, seed, runs }: Scratch,
  hooks: Hooks,
  io: Io,
): Promise<void> {
  const place = (await canWrite(runs)) ? runs : tmpdir();
  const folder = join(place, scratchName('start', job.name));
  await stoppable(io, (scratch) => inScratch(scratch, folder, () => built()));

  async function built(): Promise<void> {
    const log = await openLog({ folder: logFolder(folder), mode: 'write', clock: io.clock });
    const owned: { close(): Promise<void> }[] = [];
    try {
      await job.build({
        ...{ run: 'start', folder, seed, settings, log, clock: io.clock, ...hooks },
        print: (line) => io.err(line),
        own(resource) {
          owned.push(resource);
          return resource;
        },
      });
    } finally {
      for (const resource of owned.reverse()) await resource.close();
      await log.close();
    }
  }
}
