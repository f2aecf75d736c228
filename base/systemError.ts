/** What the operating system refused, as a sentence: a full disk, a read-only one, a file where a folder is meant. */
import { getSystemErrorName } from 'node:util';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission',
  EPERM: 'this is not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full; free some space and give the same command again',
  EDQUOT: 'the disk quota is used up; free some space and give the same command again',
  EFBIG:
    'the file would be larger than this file system or the limit of this process (ulimit -f) allows',
  ENOENT: 'there is no such file or folder; check the path',
  ENOTDIR: 'a part of the path is a file and not a folder',
  EISDIR: 'it is a folder where a file is needed',
  EEXIST: 'it is there already',
  ENOTEMPTY: 'the folder is not empty',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'its symbolic links go round in a circle',
  EMFILE: 'this process has too many files open; raise the limit with ulimit -n',
  ENFILE: 'the machine has too many files open',
  EBUSY: 'another program uses it',
  EIO: 'the disk reports an error',
  ETXTBSY: 'another program uses it',
};

/** The system's name for what went wrong (`ENOSPC`); null where the error is not the system's. */
export function systemCode(error: unknown): string | null {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  if (typeof code === 'string') return code in reasons ? code : null;
  // lmdb gives the bare number, and numbers of its own far below.
  if (typeof code !== 'number' || !Number.isInteger(code) || Math.abs(code) > 1000) return null;
  if (code === 0) return null;
  const name = getSystemErrorName(-Math.abs(code));
  return name in reasons ? name : null;
}

/** Why the system refused something, without the path; null where the error is not the system's. */
export function systemReason(error: unknown): string | null {
  const code = systemCode(error);
  return code === null ? null : `${reasons[code]} (${code})`;
}

/** The same behind the path that it is about, where the error names one. */
export function systemMessage(error: unknown): string | null {
  const reason = systemReason(error);
  if (reason === null) return null;
  const { path, dest } = error as { readonly path?: unknown; readonly dest?: unknown };
  const where = [dest, path].find((one) => typeof one === 'string');
  return where === undefined ? reason : `${where}: ${reason}`;
}
