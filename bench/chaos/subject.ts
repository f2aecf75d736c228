/**
 * What is killed: a job in processes of its own, and where to inspect its records afterwards.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AnyLogOptions, openAnyLog } from '../../streams/openAnyLog.ts';
import { built, sets } from '../../test/support/commandLine.ts';
import { allTopics } from '../../topics/index.ts';
import type { Attempt } from './attempt.ts';
import { type Inspected, inspect } from './inspect.ts';
import { prepare, type Trainer } from './job.ts';
import type { Kill } from './points.ts';

export interface Subject {
  /** Whether it can be killed at named points as well as by the clock. */
  readonly hasPoints: boolean;
  /** Once per run, before its first start. */
  prepare(run: string): Promise<void>;
  start(run: string, kill: Kill | null, timing: number): ChildProcess;
  inspect(run: string): Promise<Inspected>;
}

export interface Where {
  /** Holds one folder per run. */
  readonly folder: string;
  /** `kafka://host:port`; null = embedded. */
  readonly url: string | null;
}

const child = fileURLToPath(new URL('child.ts', import.meta.url));

/** The calibration of job.ts. */
export function tiny({ folder, url }: Where, trainer: Trainer): Subject {
  const at = (run: string): Pick<AnyLogOptions, 'at' | 'run'> =>
    url === null ? { at: join(folder, run, 'log'), run } : { at: url, run };
  return {
    hasPoints: true,
    prepare: (run) => prepare(join(folder, run), trainer),
    start(run, kill, timing) {
      const kafka = url === null ? null : { url, run };
      const attempt: Attempt = { folder: join(folder, run), kafka, trainer, timing, kill };
      return spawn(process.execPath, ['--import', 'tsx', child, JSON.stringify(attempt)], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    },
    inspect: (run) => inspected(at(run), join(folder, run)),
  };
}

const SMALL = {
  rounds: 1,
  explore: 6,
  keep: 4,
  heldOut: 4,
  batchGroups: 2,
  rollouts: 4,
  initialRollouts: 2,
  evaluationRollouts: 1,
  responseMax: 200,
  'flywheel.questions': 0,
};

/** The quickstart in small, with the built command line; it is killed by the clock alone. */
export function quickstart({ folder, url }: Where): Subject {
  return {
    hasPoints: false,
    prepare: async () => {
      await mkdir(folder, { recursive: true });
    },
    start(run) {
      const log = url === null ? [] : ['--log', url];
      const which = ['--run', run, '--runs', folder, '--seed', '5', ...log, ...sets(SMALL)];
      return spawn(process.execPath, [built(), 'run', 'examples/quickstart/job.ts', ...which], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    },
    inspect: (run) =>
      inspected(
        url === null ? { at: join(folder, run, 'log'), run } : { at: url, run },
        join(folder, run),
      ),
  };
}

async function inspected(at: Pick<AnyLogOptions, 'at' | 'run'>, folder: string) {
  const log = await openAnyLog({ topics: allTopics, ...at, mode: 'read' });
  try {
    return await inspect(log, folder);
  } finally {
    await log.close();
  }
}
