/**
 * `millrace model convert`: a policy in another form (our one file, a Hugging Face folder), another number format, or
 * with a LoRA adapter merged into it. What a run trained is a policy too, its adapters with the policy that they go on.
 * A tensor at a time, so a policy larger than memory is converted too.
 */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { besideWeights, findPolicy } from '../../jobs/parts/policyPlace.ts';
import { type PromptRecord, promptIn, writePrompt } from '../../jobs/parts/promptRecord.ts';
import { loadAdapterFile } from '../../model/adapterFile.ts';
import { readAdapter } from '../../model/hf/adapterFiles.ts';
import { openPolicy } from '../../model/hf/loadPolicy.ts';
import { checkAdapter, type LoraAdapter, merged } from '../../model/hf/lora.ts';
import { CONFIG_FILE } from '../../model/hf/openFolder.ts';
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
  const { path: given, began, promptIn: asked } = await locate(at(options.from));
  const own = given.endsWith('.safetensors') ? await loadAdapterFile(given) : null;
  const from = own?.base ?? given;
  const policy = await openPolicy(from);
  try {
    let source: Parameters<typeof merged>[0] = policy;
    const merge = (adapter: LoraAdapter, path: string): void => {
      checkAdapter(adapter, policy.config, path);
      source = merged(source, adapter);
    };
    if (own !== null) merge(own, given);
    if (options.adapter !== undefined) {
      merge(await readAdapter(at(options.adapter)), at(options.adapter));
    }
    const tokenizer = options.tokenizer === undefined ? began : at(options.tokenizer);
    const like = policy.kind === 'folder' ? from : began;
    const carries = like !== undefined && existsSync(join(like, CONFIG_FILE));
    const destination = {
      path: at(options.to),
      json: options.json === true,
      dtype: options.dtype === 'keep' ? ('keep' as const) : dtypeNamed(options.dtype),
      ...(carries ? { like } : {}),
      ...(tokenizer === undefined ? {} : { tokenizer }),
      ...(options.shardBytes === undefined ? {} : { shardBytesMax: options.shardBytes }),
    };
    const code = await writePolicy(policy.config, source, destination, io);
    const prompt = await promptIn(asked);
    if (prompt !== null) await keepPrompt(prompt, destination.path, io);
    return code;
  } finally {
    await policy.close();
  }
}

/** What lies there; of a run its newest weights (`runs/NAME@12`: those of a version), with the folder that it began with. */
async function locate(from: string): Promise<Located> {
  const run = from.replace(/@\d+$/, '');
  if (existsSync(join(run, 'run.json'))) {
    const { path, folder } = await findPolicy(from);
    return { path, began: folder, promptIn: run };
  }
  const isFile = from.endsWith('.safetensors');
  return { path: from, promptIn: isFile ? besideWeights(dirname(from)) : from };
}

interface Located {
  readonly path: string;
  readonly began?: string;
  /** The folder that says how it is asked, where that is known. */
  readonly promptIn: string;
}

/** How the policy is asked goes with it. */
async function keepPrompt(prompt: PromptRecord, path: string, io: Io): Promise<void> {
  if (!path.endsWith('.safetensors')) return writePrompt(path, prompt);
  io.err(
    'one file does not say how the policy is asked (dialect, system prompt): write a folder, or set dialect and system where it is used',
  );
}
