/**
 * Finds the policy that a setting names: a Hugging Face folder, a policy file, the folder of a run (for the
 * policy it trained), or the name of a model in this machine's Hugging Face cache. Downloads nothing.
 */
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { MillraceError } from '../../base/index.ts';
import { cachedModel, hubCache, modelName } from '../../model/hub/index.ts';
import { policyOfRun } from './policyOfRun.ts';

/** A policy on this machine. */
export interface PolicyPlace {
  /** A Hugging Face folder, or a policy file; absolute. */
  readonly path: string;
  /** The folder of its tokenizer and chat template; absolute. */
  readonly folder: string;
  /** The name given. */
  readonly name: string;
  /** The folder that may say how to prompt it: its run's, or its own. */
  readonly promptIn: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The policy of a path (from the working folder; a run's with `@` a version of it) or a name
 * (`Qwen/Qwen2.5-3B-Instruct`, `name@revision`). Fails with code `POLICY`; the message says how to get one.
 */
export async function findPolicy(name: string, env: Env = process.env): Promise<PolicyPlace> {
  const path = resolve(name);
  const entry = await stat(path).catch(() => null);
  if (entry?.isFile()) return ofFile(path, name);
  if (entry?.isDirectory()) return ofFolder(path, name, env);
  const [, run = '', version = ''] = /^(.*)@(\d+)$/.exec(path) ?? [];
  if (existsSync(join(run, 'run.json'))) return ofRun(run, name, { version, env });
  const cache = hubCache(env);
  const model = modelName(name);
  const cached = model === null ? null : await cachedModel(model, cache);
  if (cached !== null) return ofFolder(cached, name, env);
  throw new MillraceError('POLICY', missing(name, path, cache), { context: { name } });
}

function ofFile(path: string, name: string): PolicyPlace {
  if (path.endsWith('.safetensors')) {
    const isCheckpoint = basename(path).startsWith('model');
    const folder = dirname(path);
    return { path: isCheckpoint ? folder : path, folder, name, promptIn: besideWeights(folder) };
  }
  throw new MillraceError(
    'POLICY',
    `${path} is not a policy; give a Hugging Face folder, or a .safetensors file written by millrace`,
  );
}

async function ofFolder(path: string, name: string, env: Env): Promise<PolicyPlace> {
  const files = new Set(await readdir(path));
  mustBeWhole(path, files);
  if (files.has('run.json')) return ofRun(path, name, { version: null, env });
  const own = { folder: path, name, promptIn: path };
  if (files.has('config.json')) return { path, ...own };
  if (files.has('policy.safetensors')) {
    return { path: join(path, 'policy.safetensors'), ...own };
  }
  throw new MillraceError(
    'POLICY',
    `${path} has no config.json: is it the folder of a Hugging Face checkpoint?`,
  );
}

/** A checkpoint of a sharded trainer is not a policy yet, even if it has a config.json. */
function mustBeWhole(path: string, files: ReadonlySet<string>): void {
  const names = [...files];
  if (names.some((name) => name.endsWith('.safetensors'))) return;
  const merge = names.some((name) => /^model_world_size_\d+_rank_\d+\.pt$/.test(name))
    ? `python -m verl.model_merger merge --backend fsdp --local_dir ${path} --target_dir ${path}/merged`
    : names.some((name) => name.endsWith('.distcp'))
      ? `accelerate merge-weights ${path} ${path}/merged`
      : null;
  if (merge === null) return;
  throw new MillraceError(
    'POLICY',
    `${path} holds the shards of an FSDP checkpoint: merge them with \`${merge}\`, then give ${path}/merged`,
  );
}

async function ofRun(
  path: string,
  name: string,
  { version, env }: { readonly version: string | null; readonly env: Env },
): Promise<PolicyPlace> {
  const { weights, began, noted } = await policyOfRun(path, version);
  const folder = noted ? began : (await findPolicy(began, env)).folder;
  return { path: weights, folder, name, promptIn: path };
}

/** For weights that are named by their file: their run. */
export function besideWeights(folder: string): string {
  const run = dirname(folder);
  return existsSync(join(run, 'run.json')) ? run : folder;
}

/** `models/Qwen` could also be a model's name; if there is a folder `models`, it is a path. */
function meansFolder(name: string, path: string): boolean {
  return /^([./~]|(models|runs|checkpoints)\/)/.test(name) || existsSync(dirname(path));
}

function missing(name: string, path: string, cache: string): string {
  const model = modelName(name)?.model ?? '';
  if (!model.includes('/') || meansFolder(name, path)) {
    return `${path} does not exist; give the folder of a Hugging Face checkpoint, or a model's name (Qwen/Qwen2.5-3B-Instruct) after millrace model pull`;
  }
  return (
    `no folder ${path}, and no model ${model} in the Hugging Face cache (${cache}).\n` +
    `Download it, or give its folder:\n  millrace model pull ${name}`
  );
}
