/**
 * The cache of the Hugging Face Hub on this machine, as `huggingface_hub` lays it out: a model's files by
 * their digests in `blobs`, each commit a folder of links in `snapshots`, the commit of each branch in
 * `refs`.
 */
import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

export type Env = Readonly<Record<string, string | undefined>>;

export interface ModelName {
  /** `OWNER/NAME`, or `NAME`. */
  readonly model: string;
  /** A branch, a tag or a commit. */
  readonly revision: string;
}

const NAMED = /^([\w.-]+(?:\/[\w.-]+)?)(?:@([\w./-]+))?$/;

/** `Qwen/Qwen2.5-3B-Instruct`, `name@revision`; null if the text is not such a name. */
export function modelName(text: string): ModelName | null {
  const [, model, revision = 'main'] = NAMED.exec(text) ?? [];
  const isPath = [model ?? '', revision].some((part) => /(^|\/)\.{0,2}(\/|$)/.test(part));
  return model === undefined || isPath ? null : { model, revision };
}

/** Where the cache is. */
export function hubCache(env: Env): string {
  const home = env.HF_HOME ?? join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'huggingface');
  return env.HF_HUB_CACHE ?? env.HUGGINGFACE_HUB_CACHE ?? join(home, 'hub');
}

/** The folder of a model in the cache. */
export function modelFolder(cache: string, model: string): string {
  return join(cache, `models--${model.replaceAll('/', '--')}`);
}

/** The folder of a snapshot in the cache; null if the model is not there. */
export async function cachedModel(
  { model, revision }: ModelName,
  cache: string,
): Promise<string | null> {
  const folder = modelFolder(cache, model);
  const commit = await readFile(join(folder, 'refs', revision), 'utf8').catch(() => revision);
  const snapshot = join(folder, 'snapshots', commit.trim());
  return (await stat(snapshot).catch(() => null))?.isDirectory() === true ? snapshot : null;
}
