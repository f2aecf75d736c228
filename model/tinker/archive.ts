/**
 * The archive of a snapshot: a tar.gz with an adapter in PEFT's layout, or with a Hugging Face folder.
 *
 * An adapter's `target_modules` may be null, which PEFT takes for "the query and value projections" and drops
 * the rest of the adapter in silence. So the archive is never passed on as it is: the factors are read, and
 * what needs a folder for PEFT, vLLM or SGLang writes one of them with `writeAdapter`, which names the
 * modules.
 */
import { readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { NoReply } from '../../base/http/index.ts';
import { MillraceError, messageOf } from '../../base/index.ts';
import { readAdapter } from '../hf/adapterFiles.ts';
import { ADAPTER_CONFIG, ADAPTER_WEIGHTS } from '../hf/folderFiles.ts';
import type { LoraAdapter } from '../hf/lora.ts';

/**
 * Unpacks an archive into an empty folder as it arrives; returns its files by the last part of their names.
 * Fails with code `CHECKPOINT`, or with the archive's own error.
 */
export async function unpack(archive: AsyncIterable<Uint8Array>, folder: string): Promise<void> {
  // Loaded when it is needed: most runs have no training service.
  const { Unpack } = await import('tar');
  const [source, files] = [
    Readable.from(archive, { objectMode: false }),
    new Unpack({
      ...{ cwd: folder, strict: true, preserveOwner: false, noMtime: true },
      filter: (_, entry) => 'type' in entry && entry.type === 'File',
      onReadEntry(entry) {
        entry.path = posix.basename(entry.path);
      },
    }),
  ];
  try {
    await new Promise<void>((resolve, reject) => {
      source.on('error', reject);
      files.on('error', reject);
      files.on('end', () => resolve());
      source.pipe(files);
    });
  } catch (cause) {
    if (cause instanceof NoReply) throw cause;
    throw new MillraceError(
      'CHECKPOINT',
      `the training service's archive of a snapshot cannot be unpacked (${messageOf(cause)})`,
      { cause },
    );
  } finally {
    source.destroy();
  }
}

/** The adapter of an unpacked archive. Fails with code `CHECKPOINT` if there is none. */
export async function adapterAt(folder: string): Promise<LoraAdapter> {
  const names = await readdir(folder);
  for (const name of [ADAPTER_CONFIG, ADAPTER_WEIGHTS]) {
    if (names.includes(name)) continue;
    throw new MillraceError(
      'CHECKPOINT',
      `the training service's archive of a snapshot holds no adapter: it has ${names.join(', ') || 'no files'}, but no ${name}`,
    );
  }
  return readAdapter(folder);
}
