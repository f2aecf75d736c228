/** The tokenizer of a run's policy: its possible places, and the text of tokens. Loaded on first use. */
import { existsSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import type { Tokenizer } from '../model/index.ts';
import { exampleJobs, packageFolder } from './exampleJobs.ts';
import type { Io } from './io.ts';
import type { Run } from './runs.ts';

/**
 * Folders in which to look for a run's tokenizer: its own, those in its settings, that of its first policy.
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
    ...besideJob(job.file, io.cwd),
  ];
}

/** The folder `base` beside a job's file, or an example's. */
function besideJob(file: string, cwd: string): string[] {
  const example = exampleJobs.find(({ name }) => name === file);
  if (example !== undefined) return [join(packageFolder, dirname(example.source), 'base')];
  return extname(file) === '' ? [] : [join(dirname(resolve(cwd, file)), 'base')];
}

/** The folder of a ready job's first policy. */
async function firstPolicyOf({ policy }: Readonly<Record<string, unknown>>): Promise<string[]> {
  if (typeof policy !== 'string' || policy === '') return [];
  const { findPolicy } = await import('../jobs/parts/index.ts');
  const found = await findPolicy(policy).catch(() => null);
  return found === null ? [] : [found.folder];
}

/** Loads the run's tokenizer on first use; null if it is not on this machine. */
export function runTokenizer(
  run: Pick<Run, 'folder' | 'record'>,
  io: Pick<Io, 'cwd'>,
): () => Promise<Tokenizer | null> {
  const load = async (): Promise<Tokenizer | null> => {
    const folders = await tokenizerFolders(run, io);
    const folder = folders.find((one) => existsSync(join(one, 'tokenizer.json')));
    if (folder === undefined) return null;
    const { loadTokenizer } = await import('../model/tokenizers/index.ts');
    return loadTokenizer(folder);
  };
  let loading: Promise<Tokenizer | null> | undefined;
  return () => (loading ??= load().catch(() => null));
}

/** Tokens as text; null if the run's tokenizer is missing or does not know them. */
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
