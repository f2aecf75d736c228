/**
 * The archive of a snapshot, read: a tar.gz with an adapter in PEFT's layout.
 *
 * Its `target_modules` may be null, which PEFT takes for "the query and value projections" and drops the rest
 * of the adapter in silence. So the archive is never passed on as it is: the factors are read, and what needs
 * a folder for PEFT, vLLM or SGLang writes one of them with `writeAdapter`, which names the modules.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MillraceError, messageOf } from '../../base/index.ts';
import { ADAPTER_CONFIG, ADAPTER_WEIGHTS, readAdapter } from '../hf/adapterFiles.ts';
import type { LoraAdapter } from '../hf/lora.ts';

/** As much as the runtime unpacks; an adapter of a large policy has a gigabyte. */
const BYTES_MAX = 4 * 1024 ** 3;

/** Fails with code `CHECKPOINT` when the archive holds no adapter. */
export async function adapterIn(archive: Uint8Array): Promise<LoraAdapter> {
  const files = await filesIn(archive);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-adapter-'));
  try {
    await mkdir(folder, { recursive: true });
    for (const name of [ADAPTER_CONFIG, ADAPTER_WEIGHTS]) {
      const content = files.get(name);
      if (content === undefined) {
        throw noAdapter(`it has ${[...files.keys()].join(', ') || 'no files'}, but no ${name}`);
      }
      await writeFile(join(folder, name), content);
    }
    return await readAdapter(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Files of a tar.gz by the last part of their names; folders and links are left out. */
async function filesIn(archive: Uint8Array): Promise<ReadonlyMap<string, Uint8Array>> {
  // Loaded when it is needed: most runs have no training service.
  const { Parser } = await import('tar');
  const files = new Map<string, Uint8Array>();
  let bytes = 0;
  const parser = new Parser({
    strict: true,
    onReadEntry(entry) {
      if (entry.type !== 'File') return void entry.resume();
      const parts: Buffer[] = [];
      entry.on('data', (part: Buffer) => {
        bytes += part.length;
        if (bytes > BYTES_MAX)
          parser.abort(new Error(`it unpacks to more than ${BYTES_MAX} bytes`));
        else parts.push(part);
      });
      entry.on('end', () => files.set(entry.path.split('/').at(-1)!, Buffer.concat(parts)));
    },
  });
  try {
    await new Promise<void>((resolve, reject) => {
      parser.on('end', resolve);
      parser.on('error', reject);
      parser.end(Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength));
    });
  } catch (cause) {
    throw noAdapter(`it cannot be unpacked (${messageOf(cause)})`);
  }
  return files;
}

function noAdapter(why: string): MillraceError {
  return new MillraceError(
    'CHECKPOINT',
    `the training service's archive of a snapshot holds no adapter: ${why}`,
  );
}
