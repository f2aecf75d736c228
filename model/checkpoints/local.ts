/**
 * Checkpoints on disk: a policy file (model/policyFile.ts, adapterFile.ts), an optimiser file
 * (model/train/optimiserFile.ts), or a Hugging Face folder. Those of a run are in its folder `weights/`,
 * named by version.
 */
import { constants, copyFile, link, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { MillraceError, messageOf, unfinished } from '../../base/index.ts';
import type { Checkpoint, SaveTarget } from '../engine.ts';
import type { CheckpointStore } from './checkpointStore.ts';
import { digestAt, sizeAt } from './digest.ts';

/** Where they are in a run's folder. */
export const LOCAL_FOLDER = 'weights';

/** Absolute paths of what the embedded trainer writes for a version. */
export function localFiles({ folder, version }: SaveTarget): {
  readonly weights: string;
  readonly state: string;
} {
  const stem = join(folder, String(version).padStart(6, '0'));
  return { weights: `${stem}.safetensors`, state: `${stem}.optimiser.safetensors` };
}

/** Whether a checkpoint is a path. */
export function isLocal({ uri }: Checkpoint): boolean {
  return !/^[a-z][a-z0-9+.-]*:\/\//i.test(uri);
}

/** The path of a resolved checkpoint. Fails with code `CHECKPOINT_KIND` if it is anything else. */
export function localPath(checkpoint: Checkpoint): string {
  const { uri, version } = checkpoint;
  if (isLocal(checkpoint) && isAbsolute(uri)) return uri;
  throw new MillraceError(
    'CHECKPOINT_KIND',
    `policy version ${version} is at '${uri}', which is not an absolute path of a file or folder: only the kind of engine that wrote it can read it`,
    { context: { uri, version } },
  );
}

/** Checkpoints of the run in this folder, all of them local. */
export function localCheckpoints(run: string): CheckpointStore {
  const target = (version: number): SaveTarget => ({
    version,
    folder: resolve(run, LOCAL_FOLDER),
  });
  const pathOf = ({ uri }: Checkpoint): string => resolve(run, uri);
  const exists = (checkpoint: Checkpoint): Promise<boolean> =>
    stat(pathOf(checkpoint)).then(
      () => true,
      () => false,
    );
  return {
    target,
    async adopt(base, where = 'copied') {
      const path = resolve(base);
      const stays = where === 'there' || (await stat(path)).isDirectory();
      const uri = stays ? path : localFiles(target(0)).weights;
      if (!stays) await copyWhole(path, uri);
      const weights = { version: 0, uri, digest: await digestAt(uri) };
      return { weights, state: null, bytes: await sizeAt(uri) };
    },
    resolve: (checkpoint) => ({ ...checkpoint, uri: pathOf(checkpoint) }),
    record: (checkpoint) => {
      const within = relative(run, pathOf(checkpoint));
      return isOutside(within) ? checkpoint : { ...checkpoint, uri: within.replaceAll(sep, '/') };
    },
    exists,
    async condition(checkpoint) {
      if (!(await exists(checkpoint))) return { kind: 'missing' };
      if (checkpoint.digest === null) return { kind: 'whole' };
      try {
        const found = await digestAt(pathOf(checkpoint));
        if (found === checkpoint.digest) return { kind: 'whole' };
        const [is, was] = [found, checkpoint.digest].map((digest) => `${digest.slice(0, 12)}…`);
        return { kind: 'changed', why: `has digest ${is}, but its manifest says ${was}` };
      } catch (error) {
        return { kind: 'changed', why: `cannot be read: ${messageOf(error)}` };
      }
    },
    async remove({ uri }) {
      if (!isOutside(uri)) await rm(join(run, uri), { recursive: true, force: true });
    },
    async share({ uri }, to) {
      if (isOutside(uri)) return;
      const [source, copy] = [join(run, uri), join(to, uri)];
      await mkdir(dirname(copy), { recursive: true });
      // Files are never changed once written, so one file can serve both runs if the disk can link it.
      await link(source, copy).catch(() => copyFile(source, copy));
    },
  };
}

/** Whether a path relative to the run's folder leaves it. */
function isOutside(uri: string): boolean {
  return isAbsolute(uri) || uri.split(/[/\\]/)[0] === '..';
}

/** Copies so that `to` is never half written: temporary name, sync, rename. */
async function copyWhole(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  // If several processes start at once, each writes its own.
  const temporary = unfinished(to);
  await rm(temporary, { force: true });
  await copyFile(from, temporary, constants.COPYFILE_EXCL);
  const handle = await open(temporary, 'r+');
  await handle.chmod(0o600); // copyFile copies the other file's permissions
  await handle.sync().finally(() => handle.close());
  await rename(temporary, to);
}
