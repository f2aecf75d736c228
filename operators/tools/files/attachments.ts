/**
 * The files of questions, read by their names from one folder.
 *
 * Guarantees: what is read is a file that the question names, right in the folder and of bounded size; no
 * path and no link leads out of it, and nothing that is not a file is waited for. So the answers that a
 * benchmark has beside its attachments stay unread. What cannot be read is data: a sentence.
 *
 * In a Hugging Face cache, the files of a dataset are links to its `blobs`, which belong to the folder.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
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
/** A resolved path is no link; a pipe is not waited for. Windows has neither flag. */
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

export function attachmentsIn(options: AttachmentsOptions): ReadAttachment {
  const { folder, bytesMax = 64 * MB } = options;
  return async (name, files) => {
    if (!files.includes(name) || !isName(name)) return { reason: notNamed(name, files) };
    let file: FileHandle | null = null;
    try {
      const path = await realpath(join(folder, name));
      if (!belongsTo(await realpath(folder), path))
        return { reason: `${name} is a link that leads out of the folder` };
      file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      const entry = await file.stat();
      if (!entry.isFile()) return { reason: `${name} is not a file` };
      if (entry.size > bytesMax) {
        return { reason: `${name} has more than ${Math.floor(bytesMax / MB)} MiB` };
      }
      return { bytes: await readAll(file, entry.size) };
    } catch (error) {
      // Without the path, which does not concern the policy.
      const { code } = error as NodeJS.ErrnoException;
      const why =
        code === 'ENOENT' ? 'it is not there' : (systemMessage(error) ?? messageOf(error));
      return { reason: `${name} cannot be read: ${why.replaceAll(folder, '')}` };
    } finally {
      await file?.close();
    }
  };
}

/** Whether a resolved path is below the folder, or one of the blobs that a snapshot of a cache links to. */
function belongsTo(folder: string, path: string): boolean {
  const [, dataset] =
    /^(.*[/\\]datasets--[^/\\]+)[/\\]snapshots[/\\]/.exec(`${folder}${sep}`) ?? [];
  const roots = dataset === undefined ? [folder] : [folder, join(dataset, 'blobs')];
  return roots.some((root) => path.startsWith(`${root}${sep}`));
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
