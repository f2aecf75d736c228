/**
 * The digest of a local checkpoint, and the error when it is not the recorded one.
 *
 * Of a file it is the SHA-256 of its bytes; of a Hugging Face folder (a policy or an adapter) that of
 * `digestOf`, which `sha256sum config.json *.safetensors | sha256sum` prints. Both in hex.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { hasCode, MillraceError } from '../../base/index.ts';
import type { Checkpoint } from '../engine.ts';
import { ADAPTER_CONFIG, ADAPTER_WEIGHTS, CONFIG_FILE, digestOf } from '../hf/folderFiles.ts';
import { mustBeOrdinary } from '../hf/ordinaryFiles.ts';

/** The digest of the file or folder at `path`. Rejects when it cannot be read. */
export async function digestAt(path: string): Promise<string> {
  await mustBeOrdinary(path);
  if (!(await stat(path)).isDirectory()) return digestOfFile(path);
  const digests = new Map<string, string>();
  for (const file of await filesOf(path)) digests.set(basename(file), await digestOfFile(file));
  return digestOf(digests);
}

/** Bytes of a file, or of the files of a folder that count in its digest. */
export async function sizeAt(path: string): Promise<number> {
  const entry = await stat(path);
  if (!entry.isDirectory()) return entry.size;
  const sizes = await Promise.all((await filesOf(path)).map((file) => stat(file)));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}

async function filesOf(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder);
  if (names.includes(ADAPTER_CONFIG) && !names.includes(CONFIG_FILE))
    return [ADAPTER_CONFIG, ADAPTER_WEIGHTS].map((name) => join(folder, name));
  const { openFolder } = await import('../hf/openFolder.ts');
  const { files, close } = await openFolder(folder);
  await close();
  return [join(folder, CONFIG_FILE), ...files.map(({ path }) => path)];
}

async function digestOfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** The result of `read`; an error of the checkpoint's files also names the version and the way back. */
export async function readingVersion<T>(
  { version }: Checkpoint,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (!hasCode(cause, 'DIGEST') && !hasCode(cause, 'CHECKPOINT')) throw cause;
    const { code, message, context } = cause;
    throw new MillraceError(
      code,
      `policy version ${version}: ${message}. Restore it from a backup, or go back to an intact version: ` +
        'millrace doctor RUN lists the damaged ones, millrace rewind RUN --to step=N --into NAME goes back',
      { context: { ...context, version }, cause },
    );
  }
}
