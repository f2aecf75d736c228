/**
 * The archive of a snapshot, read: a tar.gz with an adapter in PEFT's layout.
 *
 * Its `target_modules` may be null, which PEFT takes for "the query and value projections" and drops the rest of the adapter in
 * silence. So the archive is never handed on as it is: the factors are read, and what needs a folder for PEFT, vLLM or
 * SGLang writes one of them with `writeAdapter`, which names the modules.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { ADAPTER_CONFIG, ADAPTER_WEIGHTS, readAdapter } from '../hf/adapterFiles.ts';
import type { LoraAdapter } from '../hf/lora.ts';

const BLOCK = 512;
/** As much as the runtime unpacks; an adapter of a large policy has a gigabyte. */
const BYTES_MAX = 4 * 1024 ** 3;

/** Fails with code `CHECKPOINT` when the archive holds no adapter. */
export async function adapterIn(archive: Uint8Array): Promise<LoraAdapter> {
  const files = filesIn(archive);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-adapter-'));
  try {
    await mkdir(folder, { recursive: true });
    for (const name of [ADAPTER_CONFIG, ADAPTER_WEIGHTS]) {
      const content = files.get(name);
      if (content === undefined) {
        throw noAdapter(`it has ${[...files.keys()].join(', ') || 'no files'}, and no ${name}`);
      }
      await writeFile(join(folder, name), content);
    }
    return await readAdapter(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Files of a tar.gz by the last part of their names; folders and links are left out. */
function filesIn(archive: Uint8Array): ReadonlyMap<string, Uint8Array> {
  const tar = unpacked(archive);
  const files = new Map<string, Uint8Array>();
  let at = 0;
  while (at + BLOCK <= tar.length) {
    const name = text(tar, at, 100);
    if (name === '') break;
    const size = Number.parseInt(text(tar, at + 124, 12), 8);
    const kind = text(tar, at + 156, 1);
    const from = at + BLOCK;
    if (!Number.isSafeInteger(size) || size < 0 || from + size > tar.length) {
      throw noAdapter(`its entry '${name}' is cut off`);
    }
    if (kind === '0' || kind === '') {
      files.set(name.split('/').at(-1) as string, tar.subarray(from, from + size));
    }
    at = from + Math.ceil(size / BLOCK) * BLOCK;
  }
  return files;
}

function unpacked(archive: Uint8Array): Uint8Array {
  try {
    return gunzipSync(archive, { maxOutputLength: BYTES_MAX });
  } catch (cause) {
    throw noAdapter(`it is no gzip (${messageOf(cause)})`);
  }
}

function text(bytes: Uint8Array, at: number, length: number): string {
  const field = Buffer.from(bytes.subarray(at, at + length)).toString('latin1');
  return field.replace(/\0.*$/s, '').trim();
}

function noAdapter(why: string): MillraceError {
  return new MillraceError(
    'CHECKPOINT',
    `the training service's archive of a snapshot holds no adapter: ${why}`,
  );
}
