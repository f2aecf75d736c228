/** The tokenizer of a run's policy: where it may lie, and the text of tokens. */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { findPolicy as placeOfPolicy } from '../jobs/parts/index.ts';
import { loadTokenizer } from '../model/hf/index.ts';
import type { Tokenizer } from '../model/index.ts';
import type { Io } from './io.ts';
import { jobPath } from './loadJob.ts';
import type { Run } from './runs.ts';

/**
 * Folders in which a run's tokenizer is looked for: its own, those that its settings name, that of its first
 * policy.
 */
export async function tokenizerFolders(
  { folder, record: { settings, job } }: Pick<Run, 'folder' | 'record'>,
  io: Pick<Io, 'cwd'>,
): Promise<string[]> {
  const text = (key: string): string[] => {
    const value = settings[key];
    return typeof value === 'string' && value !== '' ? [resolve(io.cwd, value)] : [];
  };
  return [
    join(folder, 'weights'),
    folder,
    ...text('tokenizer'),
    ...text('base'),
    ...(await firstPolicyOf(settings)),
    join(dirname(jobPath(job.file, io.cwd)), 'base'),
  ];
}

/** The folder of the policy that a ready job began with. */
async function firstPolicyOf({ policy }: Readonly<Record<string, unknown>>): Promise<string[]> {
  if (typeof policy !== 'string' || policy === '') return [];
  const found = await placeOfPolicy(policy).catch(() => null);
  return found === null ? [] : [found.folder];
}

/** Loads the run's tokenizer when it is first asked for; null where it is not here. */
export function runTokenizer(
  run: Pick<Run, 'folder' | 'record'>,
  io: Pick<Io, 'cwd'>,
): () => Promise<Tokenizer | null> {
  const load = async (): Promise<Tokenizer | null> => {
    const folders = await tokenizerFolders(run, io);
    const folder = folders.find((one) => existsSync(join(one, 'tokenizer.json')));
    return folder === undefined ? null : loadTokenizer(folder);
  };
  let loading: Promise<Tokenizer | null> | undefined;
  return () => (loading ??= load().catch(() => null));
}

/** Tokens as text; null where the run's tokenizer is not here or does not know them. */
export function tokenText(run: Run, io: Io): (tokens: Int32Array) => Promise<string | null> {
  const tokenizer = runTokenizer(run, io);
  return async (tokens) => {
    try {
      return (await tokenizer())?.decode(tokens) ?? null;
    } catch {
      return null;
    }
  };
}
