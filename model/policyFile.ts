/**
 * A policy in one file: safetensors whose metadata carries the decoder's configuration.
 *
 * Writing is atomic (temporary name, sync, rename), so a reader finds the old file or the new one, whole.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type DecoderConfig, parameterShapes, type Tensors } from './config.ts';
import { type WrittenFile, writeTensorFile } from './hf/writeTensorFile.ts';
import { readSafetensors } from './safetensors.ts';

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

/**
 * Write a policy a tensor at a time; the same policy gives the same bytes. Biases come last, so that matrices of one
 * input lie side by side, where generation uses them as one (lowering/weightPlan.ts).
 */
export async function savePolicy(path: string, { config, tensors }: Policy): Promise<WrittenFile> {
  const ordered = [...tensors].sort(
    ([a], [b]) => Number(a.endsWith('.bias')) - Number(b.endsWith('.bias')),
  );
  const entries = ordered.map(([name, { shape }]) => ({ name, shape, dtype: 'F32' as const }));
  const metadata = { config: JSON.stringify(config) };
  const read = (name: string) => tensors.get(name)!;
  const { sha256, bytes } = await writeTensorFile(path, entries, read, metadata);
  return { sha256, bytes };
}

function digest(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
