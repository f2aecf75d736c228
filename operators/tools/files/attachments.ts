/**
 * The files of questions, read by their names from one folder.
 *
 * Guarantees: what is read is a file that the question names, right in the folder and of bounded size; no
 * path leads out of it, no link is followed, and nothing that is not a file is waited for. So the answers
 * that a benchmark has beside its attachments stay unread. What cannot be read is data: a sentence.
 */
import { constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, systemMessage } from '../../../base/index.ts';

/** Where attachments are, and how large one may be. */
export interface AttachmentsOptions {
  readonly folder: string;
  /** Default 64 MiB. */
  readonly bytesMax?: number;
}

/** A file, or why there is none: a sentence for a policy. */
export type Attachment = { readonly bytes: Uint8Array } | { readonly reason: string };

/** Reads the file `name` of a question that names `files`. */
export type ReadAttachment = (name: string, files: readonly string[]) => Promise<Attachment>;

const MB = 2 ** 20;
const SHOWN_MAX = 20;
/** A link is not followed; a pipe is not waited for. Windows has neither flag. */
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

export function attachmentsIn(options: AttachmentsOptions): ReadAttachment {
  const { folder, bytesMax = 64 * MB } = options;
  return async (name, files) => {
    if (!files.includes(name) || !isName(name)) return { reason: notNamed(name, files) };
    const path = join(folder, name);
    let file: FileHandle | null = null;
    try {
      if ((await lstat(path)).isSymbolicLink())
        return { reason: `${name} is a link, and links are not followed` };
      file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      const entry = await file.stat();
      if (!entry.isFile()) return { reason: `${name} is not a file` };
      if (entry.size > bytesMax) {
        return { reason: `${name} has more than ${Math.floor(bytesMax / MB)} MiB` };
      }
      return { bytes: await readAll(file, entry.size) };
    } catch (error) {
      // Without the path: it is no business of the policy's.
      const { code } = error as NodeJS.ErrnoException;
      const why =
        code === 'ENOENT' ? 'it is not there' : (systemMessage(error) ?? messageOf(error));
      return { reason: `${name} cannot be read: ${why.replaceAll(folder, '')}` };
    } finally {
      await file?.close();
    }
  };
}

/** A file that grows meanwhile is read as it was. */
async function readAll(file: FileHandle, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  let filled = 0;
  while (filled < size) {
    const { bytesRead } = await file.read(bytes, filled, size - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled === size ? bytes : bytes.slice(0, filled);
}

/** Files are named by questions, which may be from outside. */
function isName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name);
}

function notNamed(name: string, files: readonly string[]): string {
  if (files.length === 0) return 'this question has no files';
  return `this question has no file ${JSON.stringify(name.slice(0, 200))}; its files: ${files.slice(0, SHOWN_MAX).join(', ')}`;
}
