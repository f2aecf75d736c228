/**
 * A model's files from the Hub: into its cache on this machine, which other programs share, or into a folder.
 *
 * Guarantees: nothing is downloaded twice, also after a stop; every file has the digest that the Hub gives;
 * a snapshot of the cache appears when all its files are there.
 */
import { copyFile, mkdir, rm, stat, statfs, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { MillraceError, makeFolder, replaceFile, type SleepClock } from '../../base/index.ts';
import { cachedModel, type Env, hubCache, type ModelName, modelFolder } from './cache.ts';
import { bytesHere, download, hubDigest } from './download.ts';
import { Hub, Passing } from './hub.ts';
import { type HubFile, neededFiles } from './neededFiles.ts';

/** What is about to be downloaded. */
export interface PullPlan {
  readonly commit: string;
  readonly files: number;
  readonly bytes: number;
  /** How many of these bytes are already here. */
  readonly bytesHere: number;
  /** Free bytes on the disk of `place`. */
  readonly bytesFree: number;
  readonly place: string;
}

export interface PullOptions {
  readonly name: ModelName;
  /** Absolute; null = the cache. */
  readonly folder: string | null;
  readonly env: Env;
  readonly clock: SleepClock;
  readonly signal: AbortSignal;
  readonly onPlan: (plan: PullPlan) => void;
  /** Called with the bytes received since the last call. */
  readonly onBytes: (bytes: number) => void;
  /** Prints a line for the user. */
  readonly say: (line: string) => void;
}

/** Files downloaded at once. */
const AT_ONCE = 3;

/**
 * Resolves with the folder of the model. Fails with code `HUB`, or with the system's error about the disk.
 */
export async function pullModel(options: PullOptions): Promise<string> {
  const { name, folder, env, signal, say } = options;
  const hub = new Hub(name, env, signal);
  const cache = hubCache(env);
  let commit: string;
  try {
    commit = await hub.commit();
  } catch (error) {
    const cached = folder === null ? await cachedModel(name, cache) : null;
    if (cached === null || !(error instanceof Passing)) throw error;
    say(`warning: ${error.message}. Using the copy in the cache; it may be older than the Hub's`);
    return cached;
  }
  const listed = neededFiles(name.model, await hub.files(commit));
  const place = folder ?? modelFolder(cache, name.model);
  const pathOf = (file: HubFile): string =>
    folder === null ? join(place, 'blobs', file.digest) : join(folder, file.path);
  // In the cache, equal files are stored once.
  const files = [...new Map(listed.map((file) => [pathOf(file), file])).values()];
  if (folder !== null) await mustBeTheSame(folder, files, signal);
  await makeFolder(place);
  const here = await Promise.all(files.map((file) => bytesHere(pathOf(file), file)));
  await planned(options, { commit, files, here, place });
  const missing = files.filter(({ bytes }, i) => here[i] !== bytes || bytes === 0);
  await downloaded(missing, { ...options, pathOf, hub, commit });
  return folder ?? linked(place, { name, commit, files: listed, pathOf });
}

/** Existing files with these names must be the same: nothing of the user's is overwritten. */
async function mustBeTheSame(
  folder: string,
  files: readonly HubFile[],
  signal: AbortSignal,
): Promise<void> {
  for (const file of files) {
    const path = join(folder, file.path);
    const size = await stat(path).then(
      (there) => there.size,
      () => null,
    );
    if (size === null) continue;
    if (size === file.bytes && (await hubDigest(path, file, signal)) === file.digest) continue;
    throw new MillraceError(
      'HUB',
      `${path} differs from the file on the Hub: remove it, or give another folder`,
    );
  }
}

interface Planned {
  readonly commit: string;
  readonly files: readonly HubFile[];
  /** Bytes of each. */
  readonly here: readonly number[];
  readonly place: string;
}

async function planned({ onPlan, name }: PullOptions, planned: Planned): Promise<void> {
  const { commit, files, here, place } = planned;
  const bytes = sum(files.map((file) => file.bytes));
  const bytesHere = sum(here);
  const { bavail, bsize } = await statfs(place);
  const bytesFree = bavail * bsize;
  if (bytes - bytesHere > bytesFree) {
    throw new MillraceError(
      'HUB',
      `${name.model} needs ${gigabytes(bytes - bytesHere)} more on the disk of ${place}, where ${gigabytes(bytesFree)} are free: free some space, or choose another disk (HF_HUB_CACHE, or a folder as second argument)`,
    );
  }
  onPlan({ commit, files: files.length, bytes, bytesHere, bytesFree, place });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2)} GB`;
}

interface Downloading extends PullOptions {
  readonly pathOf: (file: HubFile) => string;
  readonly hub: Hub;
  readonly commit: string;
}

/** A few at a time; the first failure ends all. */
async function downloaded(files: readonly HubFile[], options: Downloading): Promise<void> {
  const { pathOf, signal } = options;
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const left = files.values();
  const work = async (): Promise<void> => {
    for (const file of left) {
      const path = pathOf(file);
      await mkdir(dirname(path), { recursive: true });
      await download(file, path, { ...options, signal: either });
    }
  };
  const working = Array.from({ length: AT_ONCE }, () =>
    work().catch((error: unknown) => {
      failed.abort(error);
      throw error;
    }),
  );
  await Promise.allSettled(working);
  either.throwIfAborted();
}

interface Linking extends Pick<Downloading, 'name' | 'commit' | 'pathOf'> {
  readonly files: readonly HubFile[];
}

/** The snapshot, and the branch that it belongs to. */
async function linked(place: string, { name, commit, files, pathOf }: Linking): Promise<string> {
  const snapshot = join(place, 'snapshots', commit);
  for (const file of files) {
    const path = join(snapshot, file.path);
    await mkdir(dirname(path), { recursive: true });
    await rm(path, { force: true });
    // A file system without links gets copies, like those of huggingface_hub.
    await symlink(relative(dirname(path), pathOf(file)), path).catch(() =>
      copyFile(pathOf(file), path),
    );
  }
  if (name.revision !== commit) {
    const ref = join(place, 'refs', name.revision);
    await mkdir(dirname(ref), { recursive: true });
    await replaceFile(ref, commit);
  }
  return snapshot;
}
