/** The examples that can be run by name. Loads no job. */
import { fileURLToPath } from 'node:url';
import type { Job } from '../jobs/index.ts';

/** The folder of the package, with `examples/` and the sources of the ready jobs. */
export const packageFolder = fileURLToPath(
  new URL(import.meta.url.endsWith('.js') ? '../../' : '../', import.meta.url),
);

/** A job that needs no files from the user. */
export interface ReadyJob {
  readonly name: string;
  readonly about: string;
  /** Its source in the package. */
  readonly source: string;
  /** Other files that it needs and `millrace init` copies too; null = it cannot be copied. */
  readonly beside: readonly string[] | null;
  /** The job itself; null = it is loaded from its source. */
  readonly job: Job | null;
}

export const exampleJobs: readonly ReadyJob[] = [
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
