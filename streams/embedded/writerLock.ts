/**
 * One writer per log: a file that names the process which writes.
 *
 * The file is looked at and replaced while the log's write transaction is held, so two processes cannot
 * both take it. A lock is dead, and taken over, when its process is gone or its number was given to
 * another process since. A live one is an error that says which process holds it.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isRunning, MillraceError, startOf } from '../../base/index.ts';
import type { Store } from './store.ts';

interface Owner {
  readonly pid: number;
  readonly host: string;
  /** When it began (`startOf`); empty if the system does not say. */
  readonly started: string;
}

/** Locks that this very process holds: its own number in a file it does not hold is a dead namesake's. */
const held = new Set<string>();

function ownerIn(path: string): Owner | undefined {
  try {
    const owner = JSON.parse(readFileSync(path, 'utf8')) as Partial<Owner> | null;
    return isOwner(owner) ? owner : undefined;
  } catch {
    return undefined; // no file, or one cut short by a crash: the lock is free
  }
}

function isOwner(owner: Partial<Owner> | null): owner is Owner {
  return (
    Number.isInteger(owner?.pid) &&
    typeof owner?.host === 'string' &&
    typeof owner.started === 'string'
  );
}

function alive(owner: Owner, path: string): boolean {
  if (owner.host !== hostname()) return true; // cannot be seen from here
  if (owner.pid === process.pid) return held.has(path);
  return isRunning(owner.pid) && startOf(owner.pid) === owner.started;
}

/** The process that writes the log in a folder; undefined when none does. */
export function writerOf(
  folder: string,
): { readonly pid: number; readonly host: string } | undefined {
  const path = join(folder, 'writer.lock');
  const owner = ownerIn(path);
  return owner !== undefined && alive(owner, path) ? owner : undefined;
}

/** Takes the lock and returns a function that releases it. Fails with code `LOCKED`. */
export function takeWriterLock(folder: string, store: Store): () => void {
  const path = join(folder, 'writer.lock');
  store.exclusively(() => {
    const owner = ownerIn(path);
    if (owner !== undefined && alive(owner, path)) throw lockedBy(owner, path);
    const me: Owner = { pid: process.pid, host: hostname(), started: startOf(process.pid) };
    rmSync(path, { force: true });
    writeFileSync(path, JSON.stringify(me), { flag: 'wx' });
    held.add(path);
  });
  return () => {
    if (held.delete(path)) rmSync(path, { force: true });
  };
}

function lockedBy(owner: Owner, path: string): MillraceError {
  const elsewhere =
    owner.host === hostname()
      ? 'stop it first, or open the log read-only'
      : `it runs on host ${owner.host}; if it is gone for good, delete ${path}`;
  return new MillraceError(
    'LOCKED',
    `process ${owner.pid} is already writing this log; ${elsewhere}`,
    {
      context: { ...owner, path },
    },
  );
}
