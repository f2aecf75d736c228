/**
 * System errors as sentences that name the path and the limit: a full or read-only disk, a file where a
 * folder should be, too many open files.
 */
import { closeSync, openSync, type StatsFs, statfsSync } from 'node:fs';
import { devNull } from 'node:os';
import { dirname, isAbsolute } from 'node:path';
import { getSystemErrorName } from 'node:util';
import { openFilesMax } from './platform.ts';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full{room}; free some space and run the same command again',
  EDQUOT: 'the disk quota is used up{room}; free some space and run the same command again',
  EFBIG: 'the file would exceed the size limit of the file system or of this process (ulimit -f)',
  ENOENT: 'no such file or folder; check the path',
  ENOTDIR: 'part of the path is a file, not a folder',
  EISDIR: 'it is a folder, not a file',
  EEXIST: 'it already exists',
  ENOTEMPTY: 'the folder is not empty',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'its symbolic links form a loop',
  EMFILE:
    'this process has reached its limit of open files{files}; raise the limit (ulimit -n) and run the same command again',
  ENFILE: 'the machine has too many files open',
  EBUSY: 'another program is using it',
  EIO: 'the disk reported an error',
  ETXTBSY: 'another program is using it',
};

/** The system's name for the error (`ENOSPC`); null if it is not a system error. */
export function systemCode(error: unknown): string | null {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  if (typeof code === 'string') return code in reasons ? code : null;
  // lmdb gives the bare number, and far below that numbers of its own.
  if (typeof code !== 'number' || !Number.isInteger(code) || Math.abs(code) > 1000) return null;
  if (code === 0) return null;
  const name = getSystemErrorName(-Math.abs(code));
  return name in reasons ? name : null;
}

/** Why the system refused, without the path; null if it is not a system error. */
export function systemReason(error: unknown): string | null {
  const said = systemCode(error);
  if (said === null) return null;
  // A write that only partly fitted.
  const code = said === 'EIO' && !hasRoom(placeOf(error), NO_ROOM_BYTES) ? 'ENOSPC' : said;
  if (code === 'ENOSPC' && (error as NodeJS.ErrnoException).syscall === 'watch') return NO_WATCHERS;
  const reason = reasons[code]
    ?.replace('{room}', () => room(placeOf(error)))
    .replace('{files}', openFilesMax === null ? '' : ` (${openFilesMax})`);
  return `${reason} (${code})`;
}

/** The same, after the path or address that the error names. */
export function systemMessage(error: unknown): string | null {
  const reason = systemReason(error);
  if (reason === null) return null;
  const where = placeOf(error) ?? addressOf(error);
  return where === null ? reason : `${where}: ${reason}`;
}

/** Native libraries have their own wording for refusals; this adds the limit. */
export function nativeMessage(words: string): string | null {
  const code = /too many open files/i.test(words)
    ? 'EMFILE'
    : /no space left on device/i.test(words)
      ? 'ENOSPC'
      : null;
  return code === null ? null : `${words}: ${systemReason({ code })}`;
}

/**
 * Adds `path` to system errors while it is written to: errors of a handle name no path, and lmdb's are bare
 * numbers.
 */
export async function writingTo<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw about(path, error);
  }
}

/** Adds the path to a system error that names none. */
export function about(path: string, error: unknown): unknown {
  if (systemCode(error) !== null && placeOf(error) === null)
    Object.assign(error as Error, { path });
  return error;
}

const NO_WATCHERS =
  'the system has reached its limit of watched files; raise fs.inotify.max_user_watches and fs.inotify.max_user_instances (ENOSPC)';

function placeOf(error: unknown): string | null {
  const { path, dest } = error as { readonly path?: unknown; readonly dest?: unknown };
  return [dest, path].find((one) => typeof one === 'string') ?? null;
}

function addressOf(error: unknown): string | null {
  const { address, port } = error as { readonly address?: unknown; readonly port?: unknown };
  if (typeof address !== 'string') return null;
  return typeof port === 'number' ? `${address}:${port}` : address;
}

/** The error when this process cannot open any file; null when it can. */
export function outOfFiles(): Error | null {
  try {
    closeSync(openSync(devNull, 'r'));
    return null;
  } catch (error) {
    const code = systemCode(error) ?? 'EMFILE';
    return Object.assign(new Error('no file can be opened'), { code });
  }
}

/** Size of the disk that a path is on: ` (5.0 MB)`. */
function room(path: string | null): string {
  const disk = diskOf(path);
  if (disk === null) return '';
  const { bsize, blocks, files, ffree } = disk;
  if (files > 0 && ffree === 0) return ` (all of its ${files} inodes are in use)`;
  return ` (${((blocks * bsize) / 1e6).toFixed(1)} MB)`;
}

/** Fails as a write would if the disk has no room for this many bytes (a few by default). */
export function mustHaveRoom(path: string, bytes = NO_ROOM_BYTES): void {
  if (hasRoom(path, bytes)) return;
  throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC', path });
}

/** Less than any of our files grows by. */
const NO_ROOM_BYTES = 65_536;

function hasRoom(path: string | null, bytes: number): boolean {
  const disk = diskOf(path);
  return disk === null || disk.bavail * disk.bsize >= bytes;
}

/** Of the parent folder if the file has been removed again. */
function diskOf(path: string | null): StatsFs | null {
  const whole = path !== null && isAbsolute(path) ? path : null;
  for (let at = whole; at !== null; at = dirname(at) === at ? null : dirname(at)) {
    try {
      return statfsSync(at);
    } catch {
      // looked for above
    }
  }
  return null;
}
