/**
 * A snapshot of a model on the service as a file of the run, which engines load: the adapter, or all weights.
 *
 * Its archive is unpacked beside the file as it comes, and the file is written a tensor at a time, so memory
 * does not grow with the policy. What a killed process leaves carries the name of a leftover.
 */
import { mkdir, rm } from 'node:fs/promises';
import { unfinished } from '../../base/index.ts';
import { localFiles } from '../checkpoints/local.ts';
import type { SaveTarget } from '../engine.ts';
import { openPolicy } from '../hf/loadPolicy.ts';
import { saveAdapterFile } from '../hf/publishedAdapter.ts';
import type { WrittenFile } from '../hf/writeTensorFile.ts';
import { copyPolicy } from '../policyFile.ts';
import { adapterAt, unpack } from './archive.ts';
import type { RemoteModel } from './remoteModel.ts';

export interface SnapshotFile {
  readonly target: SaveTarget;
  /** What the adapter applies to; null = the snapshot holds all weights. */
  readonly base: { readonly base: string; readonly baseDigest: string | undefined } | null;
}

/** Rejects with code `CHECKPOINT` if the archive holds something else. */
export async function fileOfSnapshot(
  model: RemoteModel,
  name: string,
  { target, base }: SnapshotFile,
): Promise<WrittenFile & { readonly path: string }> {
  const path = localFiles(target).weights;
  const folder = unfinished(`${path}.archive`);
  try {
    await model.archive(name, async (archive) => {
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder, { recursive: true });
      await unpack(archive, folder);
    });
    if (base === null) return { path, ...(await writePolicy(path, folder)) };
    return { path, ...(await saveAdapterFile(path, { ...(await adapterAt(folder)), ...base })) };
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function writePolicy(path: string, folder: string): Promise<WrittenFile> {
  const policy = await openPolicy(folder);
  try {
    return await copyPolicy(path, policy.config, policy);
  } finally {
    await policy.close();
  }
}
