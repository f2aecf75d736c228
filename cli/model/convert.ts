/**
 * `millrace model convert`: a policy in another layout (single file, Hugging Face folder; from a GGUF file
 * too), another number format, or with a LoRA adapter merged. What a run trained is a policy too; its
 * adapters are merged into their base, or written alone (`--peft`). It works tensor by tensor, so a policy
 * may be larger than memory.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { MillraceError } from '../../base/index.ts';
import { jsonText } from '../../base/terminal/index.ts';
import { thousands } from '../../base/text/index.ts';
import { type PromptRecord, promptIn, writePrompt } from '../../jobs/parts/index.ts';
import {
  CONFIG_FILE,
  checkAdapter,
  type LoraAdapter,
  loadAdapterFile,
  merged,
  openPolicy,
  readAdapter,
  writeAdapter,
} from '../../model/hf/index.ts';
import { exitCodes } from '../failure.ts';
import type { Io } from '../io.ts';
import { ggufPolicy } from './ggufPolicy.ts';
import { located } from './located.ts';
import { dtypeNamed, writePolicy } from './writePolicy.ts';

export interface ConvertOptions {
  readonly from: string;
  readonly to: string;
  readonly dtype: string;
  readonly adapter?: string;
  readonly tokenizer?: string;
  readonly shardBytes?: number;
  /** Only the adapter, in PEFT's form. */
  readonly peft?: boolean;
  /** The base model to name with `peft`. */
  readonly base?: string;
  readonly json?: boolean;
}

export async function convertCommand(options: ConvertOptions, io: Io): Promise<number> {
  const at = (path: string) => resolve(io.cwd, path);
  const { path: given, began, promptIn: asked } = await located(at(options.from));
  const own = given.endsWith('.safetensors') ? await loadAdapterFile(given) : null;
  const prompt = await promptIn(asked);
  if (options.peft === true) {
    const code = await writePeft({ given, own }, options, io);
    if (prompt !== null) await writePrompt(at(options.to), prompt);
    return code;
  }
  const from = own?.base ?? given;
  const gguf = from.endsWith('.gguf')
    ? await ggufPolicy(from, options.tokenizer === undefined)
    : null;
  const policy = gguf?.policy ?? (await openPolicy(from));
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
    const like = gguf?.folder ?? (policy.kind === 'folder' ? from : began);
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
    if (prompt !== null) await keepPrompt(prompt, destination.path, io);
    return code;
  } finally {
    await policy.close();
    await gguf?.remove();
  }
}

/** The adapter that a run trained, as a folder that PEFT, vLLM and SGLang load with its base model. */
async function writePeft(
  { given, own }: { readonly given: string; readonly own: LoraAdapter | null },
  { to, dtype, base, json }: ConvertOptions,
  io: Io,
): Promise<number> {
  if (own === null) {
    throw new MillraceError(
      'CHECKPOINT',
      `${given} is a whole policy, not an adapter: convert it without --peft, or train an adapter (trainer.adapterRank=16, trainer.adapterAs=adapter)`,
      { context: { path: given } },
    );
  }
  const folder = resolve(io.cwd, to);
  const adapter = base === undefined ? own : { ...own, base };
  const { sha256, bytes } = await writeAdapter(
    folder,
    adapter,
    dtype === 'keep' ? 'F32' : dtypeNamed(dtype),
  );
  const about = {
    path: folder,
    kind: 'adapter',
    base: adapter.base,
    rank: own.rank,
    bytes,
    sha256,
  };
  await io.out(
    json === true
      ? `${jsonText(about)}\n`
      : `wrote ${folder}: an adapter of rank ${own.rank} for ${adapter.base}, ${thousands(bytes)} bytes\nsha256 ${sha256}\n`,
  );
  return exitCodes.done;
}

/** The policy's prompt goes along. */
async function keepPrompt(prompt: PromptRecord, path: string, io: Io): Promise<void> {
  if (!path.endsWith('.safetensors')) return writePrompt(path, prompt);
  io.err(
    'a single file does not record the policy’s prompt (dialect, system prompt): write a folder, or set dialect and system wherever you use it',
  );
}
