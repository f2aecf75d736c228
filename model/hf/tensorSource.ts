/**
 * Tensors that can be read one at a time, wherever they are: in one file, in the shards of a folder, or in
 * memory.
 *
 * What a checkpoint is opened as, converted from and written from, so that no more than one tensor need be in
 * memory.
 */
import type { Tensor, Tensors } from '../config.ts';
import type { TensorInfo } from './tensorFile.ts';

/** Tensors by name that are read one at a time; close it when done. */
export interface TensorSource {
  /** The tensors, in the order of a checkpoint. */
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  /** Widened to float32. Rejects if there is none of this name. */
  read(name: string): Promise<Tensor>;
  close(): Promise<void>;
}

/** Tensors in memory as a source. */
export function inMemory(tensors: Tensors): TensorSource {
  const infos = [...tensors].map(
    ([name, { shape, data }]) =>
      [name, { shape, dtype: 'F32' as const, bytes: data.byteLength }] as const,
  );
  return {
    tensors: new Map(infos),
    async read(name) {
      const tensor = tensors.get(name);
      if (tensor === undefined) throw new Error(`there is no tensor '${name}'`);
      return tensor;
    },
    close: async () => undefined,
  };
}
