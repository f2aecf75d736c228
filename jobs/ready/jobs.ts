/** The jobs that come with the package. */
import type { Job } from '../defineJob.ts';
import * as all from './all.ts';

/** In listing order; jobs not named here come last. */
const ORDER: readonly (keyof typeof all)[] = [
  'etAgent',
  'arpo',
  'aepo',
  'toolStar',
  'toolLight',
  'deepAgent',
  'agent',
  'coldStart',
  'sft',
];

const jobs: Readonly<Record<string, Job>> = all;

/** By the names of their files in this folder, in that order. */
export const jobsByFile: Readonly<Record<string, Job>> = {
  ...Object.fromEntries(ORDER.map((file) => [file, jobs[file]!])),
  ...jobs,
};
