/**
 * A policy in one file: safetensors whose metadata carries the decoder's configuration.
 *
 * Writing is atomic (temporary name, sync, rename), so a reader finds the old file or the new one, whole.
 */
import { createHash } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type DecoderConfig, parameterShapes, type Tensors } from './config.ts';
import type { SavedState } from './engine.ts';
import { readSafetensors, writeSafetensors } from './safetensors.ts';

export interface Policy {
  readonly config: DecoderConfig;
  readonly tensors: Tensors;
}

/**
 * Read a policy. A `sha256` that is not empty must be the file's digest. Throws when the file is not a policy or a
 * parameter is missing or has another shape.
 */
export async function loadPolicy(path: string, sha256 = ''): Promise<Policy> {
  const file = await readFile(path);
  const found = sha256 === '' ? '' : digest(file);
  if (found !== sha256)
    throw new Error(`${path} has digest ${found}, not ${sha256}: it was changed or cut short`);
  const { tensors, metadata } = readSafetensors(file);
  if (metadata.config === undefined)
    throw new Error(
      `${path} has no decoder configuration in its metadata: save it with savePolicy`,
    );
  const config = JSON.parse(metadata.config) as DecoderConfig;
  for (const [name, shape] of parameterShapes(config)) {
    const got = tensors.get(name)?.shape.join(',');
    if (got !== shape.join(','))
      throw new Error(`${path}: tensor '${name}' should be [${shape}], not [${got ?? 'missing'}]`);
  }
  return { config, tensors };
}

export function savePolicy(path: string, { config, tensors }: Policy): Promise<SavedState> {
  return writeWhole(path, writeSafetensors(tensors, { config: JSON.stringify(config) }));
}

/** Write a file so that it is there whole or not at all, even after a power cut. */
export async function writeWhole(path: string, content: Uint8Array): Promise<SavedState> {
  const temporary = `${path}.${process.pid}.tmp`;
  const file = await open(temporary, 'w');
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  const folder = await open(dirname(path), 'r');
  await folder.sync().finally(() => folder.close());
  return { sha256: digest(content), bytes: content.length };
}

function digest(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
