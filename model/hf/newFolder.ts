/**
 * A folder that is there whole or not at all: filled next to its place, synced, and renamed in one step.
 *
 * A folder that exists is never written over, because a reader may hold it open: a version is a new folder.
 */
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import {
  leftoversIn,
  makeFolder,
  removeLeftovers,
  syncFolder,
  unfinished,
} from '../../base/index.ts';
import { checkpointError } from './checkpointError.ts';

/**
 * Rejects with `CHECKPOINT` if `path` exists; if `fill` fails, nothing is left behind. `fill` syncs its
 * files.
 */
export async function newFolder<Result>(
  path: string,
  fill: (folder: string) => Promise<Result>,
): Promise<Result> {
  const target = resolve(path);
  if (await inTheWay(target)) throw exists(path);
  const left = await leftoversIn(dirname(target), 'files');
  await removeLeftovers(left.filter((each) => each.path.startsWith(`${target}.`)));
  const temporary = unfinished(target);
  await rm(temporary, { recursive: true, force: true });
  await makeFolder(temporary);
  try {
    const result = await fill(temporary);
    await syncFolder(temporary);
    await rename(temporary, target).catch((cause) => {
      throw /EEXIST|ENOTEMPTY|ENOTDIR/.test(cause.code) ? exists(path) : cause;
    });
    await syncFolder(dirname(target));
    return result;
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
}

/** An empty folder does not count: renaming replaces it. */
async function inTheWay(path: string): Promise<boolean> {
  const there = await stat(path).catch(() => null);
  return there !== null && !(there.isDirectory() && (await readdir(path)).length === 0);
}

function exists(path: string) {
  return checkpointError(`${path} already exists: name a new folder`, {
    file: path,
  });
}
