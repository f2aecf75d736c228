/**
 * Names of unfinished files and folders. Each says which process made it, so that what a killed process left
 * can be told from what a live one is writing, and be removed.
 *
 * Guarantees: only what has such a name is removed, and only if its process is gone or the caller knows that
 * no other process writes there. Leftovers of a process on another machine stay.
 */
import { lstat, readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isRunning } from './system/platform.ts';
import { counted } from './text/counted.ts';

const host = hostname().replace(/[^A-Za-z0-9._-]/g, '-');
const began = Math.round(performance.timeOrigin);
const mark = `${host}-${process.pid}-${began}`;

/** Where to write a file or folder that is renamed to `path` once it is complete. */
export function unfinished(path: string): string {
  return `${path}.${mark}.tmp`;
}

const kinds = ['fork', 'pack', 'past', 'start', 'unpack', 'verify'] as const;

let count = 0;

/** A hidden folder for a command's work, a new one on every call. */
export function scratchName(kind: (typeof kinds)[number], name: string): string {
  count += 1;
  return `.${kind}-${name}-${count}-${mark}`;
}

export interface Leftover {
  /** Absolute paths; the folder need not be. */
  readonly path: string;
  readonly bytes: number;
}

/**
 * A folder's leftovers: `files` = unfinished files, of any process if `alone` (no other process writes here),
 * otherwise of dead ones; `scratch` = hidden folders of commands that died.
 */
export async function leftoversIn(
  folder: string,
  what: 'files' | 'scratch',
  { alone = false }: { readonly alone?: boolean } = {},
): Promise<readonly Leftover[]> {
  const names = await readdir(folder).catch(() => []);
  const found = names.filter((name) =>
    what === 'files'
      ? name.endsWith('.tmp') && (isDead(name) || (alone && !name.endsWith(`${mark}.tmp`)))
      : SCRATCH.test(name) && isDead(name),
  );
  return Promise.all(
    found.map(async (name) => {
      const path = join(folder, name);
      return { path, bytes: await sizeOf(path) };
    }),
  );
}

/** What cannot be removed stays. */
export async function removeLeftovers(leftovers: readonly Leftover[]): Promise<void> {
  for (const { path } of leftovers) {
    await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** `2 leftovers of killed processes, 3.1 MB`. */
export function leftoversText(leftovers: readonly Leftover[]): string {
  const megabytes = leftovers.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6;
  return `${counted(leftovers.length, 'leftover')} of killed processes, ${megabytes.toFixed(1)} MB`;
}

const SCRATCH = new RegExp(`^\\.(?:${kinds.join('|')})-`);
const MARKED = /^(.*)-(\d{1,7})-(\d{10,})(?:\.tmp)?$/;
/** The form that earlier versions wrote. */
const UNMARKED = /[.-](\d{1,7})(?:\.tmp)?$/;

/** Whether the process in a name no longer runs on this machine. */
function isDead(name: string): boolean {
  const [, before = '', pid, start] = MARKED.exec(name) ?? [];
  if (pid !== undefined) {
    if (!before.endsWith(`.${host}`) && !before.endsWith(`-${host}`)) return false;
    return Number(pid) === process.pid ? Number(start) !== began : !isRunning(Number(pid));
  }
  const [, old] = UNMARKED.exec(name) ?? [];
  return old !== undefined && (Number(old) === process.pid || !isRunning(Number(old)));
}

async function sizeOf(path: string): Promise<number> {
  const entry = await lstat(path).catch(() => null);
  if (entry === null || !entry.isDirectory()) return entry?.size ?? 0;
  const names = await readdir(path).catch(() => []);
  let bytes = 0;
  for (const name of names) bytes += await sizeOf(join(path, name));
  return bytes;
}
