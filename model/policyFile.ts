/**
 * A policy in one file: safetensors whose metadata has the decoder's configuration.
 *
 * Writing is atomic (temporary name, sync, rename), so a reader finds the old file or the new one, whole.
 * hf/loadPolicy.ts reads it.
 */
import { type DecoderConfig, parameterShapes, type Tensor, type Tensors } from './config.ts';
import type { TensorSource } from './hf/tensorSource.ts';
import { type WrittenFile, writeTensorFile } from './hf/writeTensorFile.ts';

export interface Policy {
  readonly config: DecoderConfig;
  readonly tensors: Tensors;
}

/**
 * Write a policy; the same policy gives the same bytes. Fails with code `DIGEST`, and writes nothing, if the
 * file would not get the digest `expected`.
 */
export function savePolicy(
  path: string,
  { config, tensors }: Policy,
  expected: string | null = null,
): Promise<WrittenFile> {
  const shapes = [...tensors].map(([name, { shape }]) => [name, shape] as const);
  return write(path, config, shapes, (name) => tensors.get(name) as Tensor, expected);
}

/** The same for a policy elsewhere: at most one tensor is in memory. */
export function copyPolicy(path: string, config: DecoderConfig, from: TensorSource) {
  return write(path, config, [...parameterShapes(config)], (name) => from.read(name));
}

/**
 * Biases come last, so that matrices of one input are contiguous and generation can use them as one
 * (lowering/weightPlan.ts).
 */
async function write(
  path: string,
  config: DecoderConfig,
  shapes: (readonly [name: string, shape: readonly number[]])[],
  read: (name: string) => Promise<Tensor> | Tensor,
  expected: string | null = null,
): Promise<WrittenFile> {
  const ordered = shapes.sort(
    ([a], [b]) => Number(a.endsWith('.bias')) - Number(b.endsWith('.bias')),
  );
  const entries = ordered.map(([name, shape]) => ({ name, shape, dtype: 'F32' as const }));
  const metadata = { config: JSON.stringify(config) };
  const { sha256, bytes } = await writeTensorFile(path, entries, read, metadata, expected);
  return { sha256, bytes };
}
