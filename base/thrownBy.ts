/**
 * What users need from an error that their own code threw: its message and their own line. The rest of the
 * stack belongs to Node, the loader and this library, and does not help the author of a job.
 */
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { copies } from './copies.ts';
import { MillraceError, messageOf } from './errors.ts';

/** A frame of a stack: `at call (file:///job.ts:3:14)`, `at /job.ts:3:14`. */
const FRAME = /^\s+at (?:.*?\()?((?:file:\/\/|\/|[A-Za-z]:[\\/])[^()]*?):(\d+):(\d+)\)?$/;

/** The message, with the error's kind and the place in the user's file; for our errors only the message. */
export function thrownBy(error: unknown): string {
  const message = messageOf(error);
  if (error instanceof MillraceError || !(error instanceof Error)) return message;
  const place = placeOf(error);
  const kind = error.name === 'Error' || message.startsWith(error.name) ? '' : `${error.name}: `;
  return `${kind}${message}${place === null ? '' : ` (${place})`}`;
}

/** The same if the user's code threw, called by ours; null if ours is at fault. */
export function thrownByUser(error: Error): string | null {
  const frames = (error.stack ?? '').split('\n').map((line) => FRAME.exec(line)?.[1]);
  const innermost = frames.find((file) => file !== undefined);
  const path = innermost === undefined ? null : pathOf(innermost);
  return path !== null && isOfUser(path) ? thrownBy(error) : null;
}

/** The innermost line in the user's files that led to an error, as `path:line:column`; otherwise null. */
export function placeOf(error: Error): string | null {
  for (const line of (error.stack ?? '').split('\n')) {
    const [, file, row, column] = FRAME.exec(line) ?? [];
    if (file === undefined) continue;
    const path = pathOf(file);
    if (path !== null && isOfUser(path)) return `${path}:${row}:${column}`;
  }
  return null;
}

/** Without what a loader appends to the name; null if it is not a file. */
function pathOf(file: string): string | null {
  if (!file.startsWith('file:')) return file;
  try {
    return fileURLToPath(file.replace(/\?.*$/, ''));
  } catch {
    return null;
  }
}

/** People copy and edit the examples; in a checkout these, and the tests, are next to our own folders. */
function isOfUser(path: string): boolean {
  if (path.includes(`${sep}node_modules${sep}`)) return false;
  const { own } = copies();
  if (!path.startsWith(own + sep)) return true;
  return /^(examples|test)$/.test(path.slice(own.length + 1).split(sep)[0]!);
}
