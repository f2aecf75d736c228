/**
 * The optimiser's state in a safetensors file: `mean.<parameter>`, `square.<parameter>`, and the step as
 * metadata; also, as `factor.<parameter>`, what is trained but is not in the weights (an adapter's factors if
 * the merged policy is published).
 */
import { createHash } from 'node:crypto';
import type { Tensor, Tensors } from '../config.ts';
import { checkpointError } from '../hf/checkpointError.ts';
import { digestError } from '../hf/digestError.ts';
import { openTensorFile, type TensorFile } from '../hf/tensorFile.ts';
import type { TensorsToWrite } from '../hf/writeTensorFile.ts';
import type { OptimiserState } from './learner.ts';

/** The file of a state, to be written. */
export function optimiserTensors(
  path: string,
  { step, moments }: OptimiserState,
  parameters: Tensors,
  factors: Tensors,
): TensorsToWrite {
  const tensors = new Map<string, Tensor>();
  for (const [name, { shape }] of parameters) {
    tensors.set(`mean.${name}`, { shape, data: moments.get(name)?.mean as Float32Array });
    tensors.set(`square.${name}`, { shape, data: moments.get(name)?.square as Float32Array });
  }
  for (const [name, tensor] of factors) tensors.set(`factor.${name}`, tensor);
  const entries = [...tensors].map(([name, { shape }]) => ({ name, shape, dtype: 'F32' as const }));
  const read = (name: string) => tensors.get(name) as Tensor;
  return { path, entries, read, metadata: { step: String(step) } };
}

/**
 * Read a state for these parameters, and the factors. A `digest` that is not null must be the file's (code
 * `DIGEST`). Fails with code `CHECKPOINT` when the file is missing, a number is missing or a parameter has
 * another size.
 */
export async function loadOptimiser(
  path: string,
  digest: string | null,
  parameters: Tensors,
  factors: Tensors,
): Promise<[OptimiserState, Tensors]> {
  const { tensors, metadata } = await readWhole(path, digest);
  const read = (name: string, size: number) => {
    const data = tensors.get(name)?.data;
    if (data?.length !== size)
      throw checkpointError(
        `${path}: '${name}' should have ${size} numbers, not ${data?.length ?? 'none'}`,
        { file: path, tensor: name },
      );
    return data;
  };
  const moments = [...parameters].map(([name, { data }]) => {
    const mean = read(`mean.${name}`, data.length);
    return [name, { mean, square: read(`square.${name}`, data.length) }] as const;
  });
  const kept = [...factors].map(
    ([name, { shape, data }]) =>
      [name, { shape, data: read(`factor.${name}`, data.length) }] as const,
  );
  return [{ step: Number(metadata.step), moments: new Map(moments) }, new Map(kept)];
}

/** Every tensor of the file, read once; the digest is that of the bytes that were read. */
async function readWhole(
  path: string,
  digest: string | null,
): Promise<{ readonly tensors: Tensors; readonly metadata: TensorFile['metadata'] }> {
  const file = await openTensorFile(path);
  try {
    const hash = createHash('sha256');
    const tensors = new Map<string, Tensor>();
    for await (const [name, tensor] of file.readAll(hash)) tensors.set(name, tensor);
    const found = hash.digest('hex');
    if (digest !== null && found !== digest) throw digestError(path, digest, found);
    return { tensors, metadata: file.metadata };
  } finally {
    await file.close();
  }
}
