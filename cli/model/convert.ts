/**
 * `millrace model convert`: a policy in another form (our one file, a Hugging Face folder), another number format, or
 * with a LoRA adapter merged into it. A tensor at a time, so a policy larger than memory is converted too.
 */
import { resolve } from 'node:path';
import { readAdapter } from '../../model/hf/adapterFiles.ts';
import { openPolicy } from '../../model/hf/loadPolicy.ts';
import { checkAdapter, merged } from '../../model/hf/lora.ts';
import type { Io } from '../io.ts';
import { dtypeNamed, writePolicy } from './writePolicy.ts';

export interface ConvertOptions {
  readonly from: string;
  readonly to: string;
  readonly dtype: string;
  readonly adapter?: string;
  readonly tokenizer?: string;
  readonly shardBytes?: number;
  readonly json?: boolean;
}

export async function convertCommand(options: ConvertOptions, io: Io): Promise<number> {
  const at = (path: string) => resolve(io.cwd, path);
  const from = at(options.from);
  const policy = await openPolicy(from);
  try {
    let source: Parameters<typeof merged>[0] = policy;
    if (options.adapter !== undefined) {
      const adapter = await readAdapter(at(options.adapter));
      checkAdapter(adapter, policy.config, at(options.adapter));
      source = merged(policy, adapter);
    }
    const destination = {
      path: at(options.to),
      json: options.json === true,
      dtype: options.dtype === 'keep' ? ('keep' as const) : dtypeNamed(options.dtype),
      ...(policy.kind === 'folder' ? { like: from } : {}),
      ...(options.tokenizer === undefined ? {} : { tokenizer: at(options.tokenizer) }),
      ...(options.shardBytes === undefined ? {} : { shardBytesMax: options.shardBytes }),
    };
    return await writePolicy(policy.config, source, destination, io);
  } finally {
    await policy.close();
  }
}
