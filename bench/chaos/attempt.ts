/**
 * One attempt at a run: a process that ends when the run is done, or is killed on the way. What it receives,
 * what it prints, and how it ended.
 */
import type { ChildProcess } from 'node:child_process';
import type { Trainer } from './job.ts';
import type { Kill, Point } from './points.ts';

/** The argument of `child.ts`, as JSON. */
export interface Attempt {
  readonly folder: string;
  /** Null: the embedded log, in the folder. */
  readonly kafka: { readonly url: string; readonly run: string } | null;
  readonly trainer: Trainer;
  /** Varies the order in which things finish. */
  readonly timing: number;
  readonly kill: Kill | null;
}

/** Printed when the log is open. */
export const OPENED = 'opened';

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
  readonly ms: number;
}

/** Waits until the process ends; with `killMs` it is killed then, if it is still running. */
export async function ended(child: ChildProcess, killMs: number | null = null): Promise<Ended> {
  const startMs = performance.now();
  let out = '';
  let err = '';
  child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    err += chunk;
  });
  const timer = killMs === null ? undefined : setTimeout(() => child.kill('SIGKILL'), killMs);
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, out, err, ms: performance.now() - startMs });
    });
  });
}

/** How often an undisturbed attempt reached each point; null if it does not say. */
export function reachedIn({ out }: Ended): Readonly<Record<Point, number>> | null {
  const last = out.trim().split('\n').at(-1) ?? '';
  return last.startsWith('{') ? JSON.parse(last) : null;
}
