/** `millrace run --list`: the jobs that come with the package, and their presets. */
import { exitCodes } from './failure.ts';
import type { Io } from './io.ts';
import { tell } from './programName.ts';
import { readyJobs } from './readyJobs.ts';

export async function listJobs(io: Io): Promise<number> {
  const rows = readyJobs.flatMap(({ name, about, job }): (readonly [string, string])[] => [
    [name, about],
    ...Object.entries(job?.presets ?? {}).map(
      ([preset, one]) => [`  --preset ${preset}`, one.about] as const,
    ),
  ]);
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, about]) => `${name.padEnd(width)}  ${about}`);
  await tell(
    io,
    `${lines.join('\n')}\n\nshow the settings of a job: millrace run JOB --help\ncopy its source: millrace init JOB FOLDER\n`,
  );
  return exitCodes.done;
}
