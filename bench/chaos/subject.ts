/**
 * What is killed: a job in processes of its own, and where its records are looked at afterwards.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AnyLogOptions, openAnyLog } from '../../streams/openAnyLog.ts';
import type { Life } from './child.ts';
import { type Inspected, inspect } from './inspect.ts';
import { prepare, type Trainer } from './job.ts';
import type { Fate, Point } from './points.ts';

export interface Subject {
  /** Named points that it can die at. */
  readonly mortal: boolean;
  /** Once a run, before its first start. */
  prepare(run: string): Promise<void>;
  start(run: string, fate: Fate | null, timing: number): ChildProcess;
  inspect(run: string): Promise<Inspected>;
}

export interface Where {
  /** Holds a folder a run. */
  readonly folder: string;
  /** `kafka://host:port`; null = embedded. */
  readonly url: string | null;
}

const child = fileURLToPath(new URL('child.ts', import.meta.url));
const cli = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** The calibration of job.ts. */
export function tiny({ folder, url }: Where, trainer: Trainer): Subject {
  const at = (run: string): Pick<AnyLogOptions, 'at' | 'run'> =>
    url === null ? { at: join(folder, run, 'log'), run } : { at: url, run };
  return {
    mortal: true,
    prepare: (run) => prepare(join(folder, run), trainer),
    start(run, fate, timing) {
      const kafka = url === null ? null : { url, run };
      const life: Life = { folder: join(folder, run), kafka, trainer, timing, fate };
      return spawn(process.execPath, ['--import', 'tsx', child, JSON.stringify(life)], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    },
    inspect: (run) => inspected(at(run), join(folder, run)),
  };
}

const SMALL = {
  ...{ rounds: 1, explore: 6, keep: 4, heldOut: 4, batchGroups: 2, rollouts: 4 },
  ...{ initialRollouts: 2, evaluationRollouts: 1, responseMax: 200, 'flywheel.questions': 0 },
};

/** The quickstart in small, by the built command line; it dies by the clock alone. */
export function quickstart({ folder, url }: Where): Subject {
  const settings = Object.entries(SMALL).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
  return {
    mortal: false,
    prepare: async () => {
      await mkdir(folder, { recursive: true });
    },
    start(run) {
      const log = url === null ? [] : ['--log', url];
      const which = ['--run', run, '--runs', folder, '--seed', '5', ...log, ...settings];
      return spawn(process.execPath, [cli, 'run', 'examples/quickstart/job.ts', ...which], {
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
  const log = await openAnyLog({ ...at, mode: 'read' });
  try {
    return await inspect(log, folder);
  } finally {
    await log.close();
  }
}

/** What a life prints when it has its log. */
export const OPENED = 'opened';

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
  readonly ms: number;
}

/** Waits for the end of a life; with `killMs` it is killed then, if it still lives. */
export async function ended(life: ChildProcess, killMs: number | null = null): Promise<Ended> {
  const startMs = performance.now();
  let out = '';
  let err = '';
  life.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  life.stderr?.on('data', (chunk) => {
    err += chunk;
  });
  const timer = killMs === null ? undefined : setTimeout(() => life.kill('SIGKILL'), killMs);
  return new Promise((resolve) => {
    life.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, out, err, ms: performance.now() - startMs });
    });
  });
}

/** How often an undisturbed life reached each point; none where it does not tell. */
export function reachedIn({ out }: Ended): Readonly<Record<Point, number>> | null {
  const last = out.trim().split('\n').at(-1) ?? '';
  return last.startsWith('{') ? JSON.parse(last) : null;
}
