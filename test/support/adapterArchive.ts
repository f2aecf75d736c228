/** A tar with an adapter as SkyRL writes it: `/` first, and `target_modules` null. */
import type { LoraAdapter } from '../../model/hf/lora.ts';

/** Rank 2 on the query and up projections of both layers of `smallest`; factors follow the table. */
export function adapterArchive(table: Float64Array): Uint8Array {
  const config = {
    ...{ peft_type: 'LORA', r: 2, lora_alpha: 32, target_modules: null, bias: 'none' },
    base_model_name_or_path: null,
  };
  const tensors: [name: string, shape: number[], data: Float32Array][] = [];
  for (const layer of [0, 1]) {
    for (const [module, out, width] of [
      ['self_attn.q_proj', 16, 16],
      ['mlp.up_proj', 24, 16],
    ] as const) {
      const values = (length: number, from: number) =>
        Float32Array.from({ length }, (_, i) => (table[(from + i) % table.length] as number) / 10);
      const prefix = `base_model.model.model.layers.${layer}.${module}`;
      tensors.push([`${prefix}.lora_A.weight`, [2, width], values(2 * width, layer)]);
      tensors.push([`${prefix}.lora_B.weight`, [out, 2], values(2 * out, 7 + layer)]);
    }
  }
  const files = [entry('/', new Uint8Array(0), '5')];
  files.push(entry('adapter_config.json', Buffer.from(JSON.stringify(config)), '0'));
  files.push(entry('adapter_model.safetensors', safetensors(tensors), '0'));
  return Buffer.concat([...files, new Uint8Array(1024)]);
}

/** Modules of the adapter that `adapterArchive` writes. */
export function modulesOf({ modules }: LoraAdapter): string[] {
  return [...modules.keys()].sort();
}

function safetensors(tensors: readonly [string, number[], Float32Array][]): Uint8Array {
  const header: Record<string, unknown> = {};
  let at = 0;
  for (const [name, shape, data] of tensors) {
    header[name] = { dtype: 'F32', shape, data_offsets: [at, at + data.byteLength] };
    at += data.byteLength;
  }
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  const parts = tensors.map(([, , { buffer, byteOffset, byteLength }]) =>
    Buffer.from(buffer, byteOffset, byteLength),
  );
  return Buffer.concat([size, text, ...parts]);
}

function entry(name: string, content: Uint8Array, kind: string): Uint8Array {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write('0000644\0', 100);
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write(kind, 156);
  // Over the header with blanks in its own place.
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const rest = Buffer.alloc((512 - (content.length % 512)) % 512);
  return Buffer.concat([header, content, rest]);
}
