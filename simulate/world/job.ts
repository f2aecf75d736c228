/**
 * The job of a simulated run, wired like a user's job, and where it is kept. Nothing here knows whether it
 * runs, resumes or is replayed.
 */
import type { SleepClock } from '../../base/index.ts';
import {
  calibrateSettings,
  type Job,
  type JobContext,
  type PolicyParts,
  type PolicySettings,
  trainPolicy,
} from '../../jobs/index.ts';
import type { Complete } from '../../operators/evolve/index.ts';
import { keepIf } from '../../streams/index.ts';
import { checkpointsOn, type Disk } from './disk.ts';
import { methodsOf, type Shape } from './shape.ts';
import { arriving, dialect, sums } from './words.ts';

/** What the world gives the job. */
export interface WorldParts extends Pick<PolicyParts, 'engine' | 'trainer' | 'tools'> {
  readonly critic: Complete;
  /** The clock on which questions that come one by one are waited for. */
  readonly clock: SleepClock;
}

export function jobOf(shape: Shape, parts: WorldParts): Job {
  return {
    name: 'simulated',
    about: 'A run in a simulated world.',
    settings: calibrateSettings,
    build: (context) =>
      trainPolicy(
        // Checked by the schema above.
        context as JobContext<PolicySettings>,
        { ...parts, dialect, base: 'base weights' },
        { train: questionsOf(shape, parts.clock) },
        methodsOf(shape, parts.critic),
      ),
  };
}

function questionsOf({ questions, arrivalMs, seed }: Shape, clock: SleepClock) {
  return arrivalMs === null ? sums(questions) : arriving(clock, arrivalMs, seed);
}

/** Checkpoints on the simulated disk; nothing else is kept, and the event loop never stalls. */
export function placeOn(disk: Disk): NonNullable<JobContext<unknown>['place']> {
  return {
    checkpoints: checkpointsOn(disk),
    prompted: async () => undefined,
    metrics: () => keepIf(() => false) as never,
    watch: () => ({ take: () => 0, stop: () => undefined }),
  };
}
