/**
 * The optimiser's state in a safetensors file: `mean.<parameter>`, `square.<parameter>`, and the step as metadata;
 * beside them, as `factor.<parameter>`, what is trained but does not lie in the weights (an adapter's factors where
 * the merged policy is published).
 */
import { readFile } from 'node:fs/promises';
import type { Tensor, Tensors } from '../config.ts';
import { writeTensorFile } from '../hf/writeTensorFile.ts';
import { readSafetensors } from '../safetensors.ts';
import type { OptimiserState } from './learner.ts';

export async function saveOptimiser(
  path: string,
  { step, moments }: OptimiserState,
  parameters: Tensors,
  factors: Tensors,
): Promise<void> {
  const tensors = new Map<string, Tensor>();
  for (const [name, { shape }] of parameters) {
    tensors.set(`mean.${name}`, { shape, data: moments.get(name)?.mean as Float32Array });
    tensors.set(`square.${name}`, { shape, data: moments.get(name)?.square as Float32Array });
  }
  for (const [name, tensor] of factors) tensors.set(`factor.${name}`, tensor);
  const entries = [...tensors].map(([name, { shape }]) => ({ name, shape, dtype: 'F32' as const }));
  const read = (name: string) => tensors.get(name) as Tensor;
  await writeTensorFile(path, entries, read, { step: String(step) });
}

/** Read a state for these parameters, and the factors. Throws when one is missing or has another size. */
export async function loadOptimiser(
  path: string,
  parameters: Tensors,
  factors: Tensors,
): Promise<[OptimiserState, Tensors]> {
  const { tensors, metadata } = readSafetensors(await readFile(path));
  const read = (name: string, size: number) => {
    const data = tensors.get(name)?.data;
    if (data?.length !== size)
      throw new Error(
        `${path}: '${name}' should have ${size} numbers, not ${data?.length ?? 'none'}`,
      );
    return data;
  };
  const moments = [...parameters].map(([name, { data }]) => {
    const mean = read(`mean.${name}`, data.length);
    return [name, { mean, square: read(`square.${name}`, data.length) }] as const;
  });
  const found = [...factors].map(
    ([name, { shape, data }]) =>
      [name, { shape, data: read(`factor.${name}`, data.length) }] as const,
  );
  return [{ step: Number(metadata.step), moments: new Map(moments) }, new Map(found)];
}
