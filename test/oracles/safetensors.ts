/**
 * safetensors in the plainest way: the whole file in memory, float32 only, nothing checked.
 *
 * Layout: 8 bytes header length (little-endian), the JSON header {name: {dtype, shape, data_offsets}}, the
 * data.
 */
import type { Tensor, Tensors } from '../../model/config.ts';

interface Entry {
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

export function readSafetensors(file: Buffer): {
  readonly tensors: Tensors;
  readonly metadata: Readonly<Record<string, string>>;
} {
  const dataAt = 8 + Number(file.readBigUInt64LE(0));
  const { __metadata__: metadata, ...entries } = JSON.parse(file.toString('utf8', 8, dataAt));
  const tensors = Object.entries(entries as Record<string, Entry>).map(
    ([name, { shape, data_offsets: offsets }]): [string, Tensor] => {
      const [start, end] = offsets;
      const floats = Array.from({ length: (end - start) / 4 }, (_, i) =>
        file.readFloatLE(dataAt + start + 4 * i),
      );
      return [name, { shape, data: Float32Array.from(floats) }];
    },
  );
  return { tensors: new Map(tensors), metadata };
}
