/**
 * A policy in one file: safetensors whose metadata carries the decoder's configuration.
 *
 * Writing is atomic (temporary name, sync, rename), so a reader finds the old file or the new one, whole.
 * hf/loadPolicy.ts reads it.
 */
import type { DecoderConfig, Tensor, Tensors } from './config.ts';
import { type WrittenFile, writeTensorFile } from './hf/writeTensorFile.ts';

export interface Policy {
  readonly config: DecoderConfig;
  readonly tensors: Tensors;
}

/**
 * Write a policy a tensor at a time; the same policy gives the same bytes. Biases come last, so that matrices
 * of one input are contiguous, so that generation can use them as one (lowering/weightPlan.ts).
 */
export async function savePolicy(path: string, { config, tensors }: Policy): Promise<WrittenFile> {
  const ordered = [...tensors].sort(
    ([a], [b]) => Number(a.endsWith('.bias')) - Number(b.endsWith('.bias')),
  );
  const entries = ordered.map(([name, { shape }]) => ({ name, shape, dtype: 'F32' as const }));
  const metadata = { config: JSON.stringify(config) };
  const read = (name: string) => tensors.get(name) as Tensor;
  const { sha256, bytes } = await writeTensorFile(path, entries, read, metadata);
  return { sha256, bytes };
}
