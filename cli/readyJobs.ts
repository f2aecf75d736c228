/**
 * The jobs that come with the package, by name: `millrace run et-agent`. Each is a file that `millrace init`
 * copies out.
 */
import type { Job } from '../jobs/index.ts';
import { jobsByFile } from '../jobs/ready/index.ts';
import { exampleJobs, type ReadyJob } from './exampleJobs.ts';

const own = (job: Job, file: string): ReadyJob => ({
  name: job.name,
  about: job.about,
  source: `jobs/ready/${file}`,
  beside: [],
  job,
});

/** Those of `jobs/ready`, then the examples. */
export const readyJobs: readonly ReadyJob[] = [
  ...Object.entries(jobsByFile).map(([file, job]) => own(job, `${file}.ts`)),
  ...exampleJobs,
];

/** The ready job of this name. */
export function readyJob(name: string): ReadyJob | null {
  return readyJobs.find((ready) => ready.name === name) ?? null;
}
