/**
 * Makes a folder to write into, with its parents.
 *
 * `mkdir`'s `recursive` never ends on procfs, and reports ENOENT on a read-only disk.
 */
import { constants } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MillraceError, messageOf } from './errors.ts';
import { systemCode, systemReason } from './system/systemError.ts';

/** Fails with code `FOLDER` if it cannot be made or written to. */
export async function makeFolder(path: string): Promise<void> {
  if (!(await isFolder(path))) await made(path);
  await access(path, constants.W_OK).catch((cause: unknown) => {
    throw refused('be written to', path, cause);
  });
}

/** Whether files can be created in an existing folder. */
export async function canWrite(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
}

async function made(path: string): Promise<void> {
  const above = dirname(path);
  if (above !== path && !(await isThere(above))) await made(above);
  try {
    await mkdir(path);
  } catch (cause) {
    if (systemCode(cause) === 'EEXIST' && (await isFolder(path))) return;
    throw refused('be created', path, cause);
  }
}

function refused(what: string, path: string, cause: unknown): MillraceError {
  // The parent exists, so the file system itself allows no folders (procfs).
  const reason =
    systemCode(cause) === 'ENOENT'
      ? 'this file system does not allow new folders'
      : (systemReason(cause) ?? messageOf(cause));
  return new MillraceError('FOLDER', `the folder ${path} cannot ${what}: ${reason}`, {
    context: { path },
    cause,
  });
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => systemCode(error) !== 'ENOENT',
  );
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
}
