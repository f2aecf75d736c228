/**
 * Packages that the user has added for the Python tool, in a folder of the user's cache, one per version of
 * pyodide: `packages.json`, and next to it one file per package.
 *
 * Guarantees: a file is there whole or not at all; its digest is checked against the list before an
 * interpreter gets it.
 */
import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { MillraceError, makeFolder, replaceFile, systemCode } from '../../../../base/index.ts';

const addedPackage = z.object({
  name: z.string(),
  version: z.string(),
  /** In the folder. */
  file: z.string(),
  /** Of that file. */
  sha256: z.string(),
  /** Of the original wheel, and where it came from. */
  wheel: z.object({ sha256: z.string(), from: z.string() }),
  native: z.boolean(),
  imports: z.array(z.string()),
  depends: z.array(z.string()),
});
export type AddedPackage = z.infer<typeof addedPackage>;

const LIST = 'packages.json';

/** `XDG_CACHE_HOME` and the name of the version. */
export function packagesFolder(version: string, env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'millrace', 'python', version);
}

/** The added packages, dependencies first. Throws `DAMAGED`. */
export async function addedPackages(folder: string): Promise<readonly AddedPackage[]> {
  const path = join(folder, LIST);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return '[]';
    throw error;
  });
  try {
    return z.array(addedPackage).parse(JSON.parse(text));
  } catch (cause) {
    throw damaged(path, 'cannot be read', cause);
  }
}

export async function keepPackage(
  folder: string,
  one: Omit<AddedPackage, 'sha256'>,
  bytes: Uint8Array,
): Promise<void> {
  await makeFolder(folder);
  await replaceFile(join(folder, one.file), bytes);
  const added = { ...one, sha256: digestOf(bytes) };
  const all = await addedPackages(folder);
  // one that is added again keeps its place: its dependents come after it
  const isThere = all.some(({ name }) => name === one.name);
  const next = isThere
    ? all.map((each) => (each.name === one.name ? added : each))
    : [...all, added];
  await writeList(folder, next);
}

/** Removes packages, and those that need one of `names`; returns the names of all removed. */
export async function removePackages(
  folder: string,
  names: readonly string[],
): Promise<readonly string[]> {
  const all = await addedPackages(folder);
  const gone = new Set(names);
  for (const { name, depends } of all)
    if (depends.some((needed) => gone.has(needed))) gone.add(name);
  await writeList(
    folder,
    all.filter(({ name }) => !gone.has(name)),
  );
  const removed = all.filter(({ name }) => gone.has(name));
  for (const { file } of removed) await rm(join(folder, file), { force: true });
  return removed.map(({ name }) => name);
}

async function writeList(folder: string, all: readonly AddedPackage[]): Promise<void> {
  await replaceFile(join(folder, LIST), `${JSON.stringify(all, null, 1)}\n`);
}

/** Throws `DAMAGED` if a file was changed after it was added. */
export async function checkPackages(folder: string, all: readonly AddedPackage[]): Promise<void> {
  for (const { file, sha256 } of all) {
    const path = join(folder, file);
    const bytes = await readFile(path).catch((error: unknown) => {
      throw damaged(path, 'cannot be read', error);
    });
    if (digestOf(bytes) !== sha256) throw damaged(path, 'was changed after it was added');
  }
}

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function damaged(path: string, what: string, cause?: unknown): MillraceError {
  return new MillraceError(
    'DAMAGED',
    `${path} ${what}: add the package again (millrace tools python add NAME)`,
    { context: { file: path }, ...(cause === undefined ? {} : { cause }) },
  );
}
