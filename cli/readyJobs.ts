/**
 * The jobs that come with the package, by name: `millrace run et-agent`. Each is a file that `millrace init`
 * copies out.
 */
import { fileURLToPath } from 'node:url';
import type { Job } from '../jobs/index.ts';
import { jobsByFile } from '../jobs/ready/index.ts';

/** The folder of the package, with `examples/` and the sources of the ready jobs. */
export const packageFolder = fileURLToPath(
  new URL(import.meta.url.endsWith('.js') ? '../../' : '../', import.meta.url),
);

/** A job that needs no file of the user's. */
export interface ReadyJob {
  readonly name: string;
  readonly about: string;
  /** Its source in the package. */
  readonly source: string;
  /** Files beside it that it needs and `millrace init` copies too; null = it cannot be copied. */
  readonly beside: readonly string[] | null;
  /** The job itself; null = it is loaded from its source. */
  readonly job: Job | null;
}

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
  {
    name: 'quickstart',
    about: 'Runs et-agent in an invented world with a small bundled policy. Needs no files.',
    source: 'examples/quickstart/job.ts',
    beside: null,
    job: null,
  },
  {
    name: 'from-scratch',
    about:
      'A minimal job to start your own from: questions, a tool, a reward, a policy. Needs no files.',
    source: 'examples/fromScratch/job.ts',
    beside: ['questions.csv'],
    job: null,
  },
];

/** The ready job of this name. */
export function readyJob(name: string): ReadyJob | null {
  return readyJobs.find((ready) => ready.name === name) ?? null;
}
