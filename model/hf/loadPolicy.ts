/**
 * A policy from wherever it is: our single file (policyFile.ts) or a Hugging Face folder.
 *
 * `openPolicy` reads headers and checks names and shapes; tensors are read on demand. `loadPolicy` reads
 * them all, in one pass over each file that also gives the digest.
 */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type DecoderConfig, parameterShapes, type Tensor } from '../config.ts';
import type { Policy } from '../policyFile.ts';
import { checkpointError } from './checkpointError.ts';
import { digestError } from './digestError.ts';
import { CONFIG_FILE, digestOf } from './folderFiles.ts';
import { openFolder } from './openFolder.ts';
import { mustBeOrdinary } from './ordinaryFiles.ts';
import { checkParameters } from './parameters.ts';
import { openTensorFile, type TensorFile } from './tensorFile.ts';
import type { TensorSource } from './tensorSource.ts';

/** A policy whose headers have been read and whose tensors are read on request. Close it when done. */
export interface OpenPolicy extends TensorSource {
  readonly config: DecoderConfig;
  /** `file` = our one file; `folder` = a Hugging Face folder. */
  readonly kind: 'file' | 'folder';
  readonly files: readonly TensorFile[];
}

/**
 * Open a policy. Rejects with `CHECKPOINT` or `MODEL_CONFIG`, naming file and tensor, when a file is missing,
 * cut short or holds other tensors than its configuration describes (`check: false` leaves the last to the
 * caller).
 */
export async function openPolicy(path: string, check = true): Promise<OpenPolicy> {
  await mustBeOrdinary(path);
  const there = await stat(path).catch(() => null);
  const policy = there?.isDirectory() ? await openedFolder(path) : await openedFile(path);
  if (!check) return policy;
  try {
    checkParameters(path, policy.config, policy.tensors);
    return policy;
  } catch (error) {
    await policy.close();
    throw error;
  }
}

async function openedFolder(path: string): Promise<OpenPolicy> {
  return { kind: 'folder', ...(await openFolder(path)) };
}

async function openedFile(path: string): Promise<OpenPolicy> {
  const file = await openTensorFile(path);
  const { tensors, metadata } = file;
  const read = (name: string) => file.read(name);
  const close = () => file.close();
  try {
    if (metadata.adapter !== undefined)
      throw checkpointError(
        `${path} is an adapter, not a policy: merge it into its policy (millrace model convert ${path} FOLDER) and name that folder`,
        { file: path },
      );
    if (metadata.config === undefined)
      throw checkpointError(
        `${path} has no decoder configuration in its metadata: name the folder that it came with, or save it with savePolicy`,
        { file: path },
      );
    const config = JSON.parse(metadata.config) as DecoderConfig | null;
    if (typeof config?.architecture !== 'string') throw new SyntaxError('not a configuration');
    return { kind: 'file', config, files: [file], tensors, read, close };
  } catch (error) {
    await file.close();
    if (!(error instanceof SyntaxError)) throw error;
    throw checkpointError(
      `${path}: the configuration in its metadata cannot be read: save it again`,
      { file: path },
    );
  }
}

/**
 * Read a policy whole. A `sha256` that is not empty must be its digest: the file's, or for a folder that of
 * `digestOf`. Rejects like `openPolicy`, and with `DIGEST` when it is another.
 */
export async function loadPolicy(path: string, sha256 = ''): Promise<Policy> {
  const policy = await openPolicy(path);
  try {
    const found = new Map<string, Tensor>();
    const keep = (name: string, tensor: Tensor) => void found.set(name, tensor);
    const digest = await passOver(path, policy, sha256 !== '', keep);
    if (digest !== sha256) throw digestError(path, sha256, digest);
    const { config } = policy;
    const tensors = new Map([...parameterShapes(config).keys()].map((n) => [n, found.get(n)!]));
    return { config, tensors };
  } finally {
    await policy.close();
  }
}

/**
 * Read every tensor once, in the order of the files, and hand each to `visit`. Resolves to the digest of the
 * policy that was opened from `path`, or to '' when it is not `digested`. One tensor is held at a time.
 */
export async function passOver(
  path: string,
  policy: OpenPolicy,
  digested: boolean,
  visit: (name: string, tensor: Tensor) => void,
): Promise<string> {
  const digests = new Map<string, string>();
  for (const file of policy.files) {
    const hash = digested ? createHash('sha256') : undefined;
    for await (const [name, tensor] of file.readAll(hash)) visit(name, tensor);
    if (hash !== undefined) digests.set(basename(file.path), hash.digest('hex'));
  }
  if (!digested) return '';
  if (policy.kind === 'file') return digests.get(basename(path))!;
  const config = await readFile(join(path, CONFIG_FILE));
  digests.set(CONFIG_FILE, createHash('sha256').update(config).digest('hex'));
  return digestOf(digests);
}
