/**
 * Finds the weights that a path names: a file, a folder with a policy, or the folder of a run
 * (`runs/NAME@12`: a version).
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { besideWeights, findPolicy } from '../../jobs/parts/index.ts';
import { CONFIG_FILE } from '../../model/hf/index.ts';

export interface Located {
  readonly path: string;
  /** For a run: the folder of its first policy. */
  readonly began?: string;
  /** The folder that says how to prompt it, if known. */
  readonly promptIn: string;
}

/** `from` is absolute. For a run its newest weights, unless it names a version. */
export async function located(from: string): Promise<Located> {
  const run = from.replace(/@\d+$/, '');
  if (existsSync(join(run, 'run.json'))) {
    const { path, folder } = await findPolicy(from);
    return { path, began: folder, promptIn: run };
  }
  const isFile = /\.(safetensors|gguf)$/.test(from);
  if (isFile) return { path: from, promptIn: besideWeights(dirname(from)) };
  const own = join(from, 'policy.safetensors');
  const isOurs = existsSync(own) && !existsSync(join(from, CONFIG_FILE));
  return isOurs ? { path: own, began: from, promptIn: from } : { path: from, promptIn: from };
}
