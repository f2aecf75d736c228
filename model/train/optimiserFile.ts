/**
 * The optimiser's state in a safetensors file: `mean.<parameter>`, `square.<parameter>`, and the step as metadata.
 */
import { readFile } from 'node:fs/promises';
import type { Tensor, Tensors } from '../config.ts';
import { writeWhole } from '../policyFile.ts';
import { readSafetensors, writeSafetensors } from '../safetensors.ts';
import type { OptimiserState } from './learner.ts';

export async function saveOptimiser(
  path: string,
  { step, moments }: OptimiserState,
  parameters: Tensors,
): Promise<void> {
  const tensors = new Map<string, Tensor>();
  for (const [name, { shape }] of parameters) {
    tensors.set(`mean.${name}`, { shape, data: moments.get(name)?.mean as Float32Array });
    tensors.set(`square.${name}`, { shape, data: moments.get(name)?.square as Float32Array });
  }
  await writeWhole(path, writeSafetensors(tensors, { step: String(step) }));
}

/** Read a state for these parameters. Throws when one is missing or has another size. */
export async function loadOptimiser(path: string, parameters: Tensors): Promise<OptimiserState> {
  const { tensors, metadata } = readSafetensors(await readFile(path));
  const moment = (name: string, size: number) => {
    const data = tensors.get(name)?.data;
    if (data?.length !== size)
      throw new Error(
        `${path}: '${name}' should have ${size} numbers, not ${data?.length ?? 'none'}`,
      );
    return data;
  };
  const moments = new Map(
    [...parameters].map(([name, { data }]) => [
      name,
      {
        mean: moment(`mean.${name}`, data.length),
        square: moment(`square.${name}`, data.length),
      },
    ]),
  );
  return { step: Number(metadata.step), moments };
}
