/**
 * What servers load: for each version a folder on a disk that they share, in the layout of Hugging Face (a
 * whole policy) or of PEFT (an adapter).
 *
 * Guarantees: a folder is written next to its place, read back, and renamed, so that a path that a server is
 * given is always whole; writing and reading happen in another thread; an existing folder is used only if it
 * was made of the same weights and nothing in it has changed. Folders of versions long gone are deleted.
 */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import {
  leftoversIn,
  MillraceError,
  removeLeftovers,
  startWorker,
  type WorkerHandle,
  workerEntry,
} from '../../base/index.ts';
import { localPath } from '../checkpoints/local.ts';
import type { Checkpoint } from '../engine.ts';
import type { Dtype } from '../hf/dtypes.ts';
import { isLabel, labelOf } from './publish.ts';

/** What a version is written as. */
export type ServedAs = 'adapter' | 'full';

/** Where folders go, as what, and what is copied into them. */
export interface ServedFoldersOptions {
  readonly as: ServedAs;
  /** Folder on the shared disk; created if missing. */
  readonly share: string;
  /** The same folder as the servers see it; `share` if left out. */
  readonly seenAs?: string;
  /**
   * Hugging Face folder of the first policy: its tokenizer, template and settings are copied along, if it is
   * one.
   */
  readonly like?: string;
  /** The servers' name for the first policy, for the adapter's `base_model_name_or_path`. */
  readonly base?: string;
  /** Number format of whole policies (default: unchanged); adapters are float32. */
  readonly dtype?: Dtype | 'keep';
  /** How many of the newest folders to keep (default 3). */
  readonly keep?: number;
}

/** Folders of versions, written on demand. */
export interface ServedFolders {
  /**
   * The folder of these weights as the servers see it, written if it does not exist; null if a whole policy
   * is needed as an adapter and it is the first version: the one that the servers were started with. Rejects
   * with `WEIGHTS_REFUSED` if they cannot be written as that, `CHECKPOINT` or `DIGEST` if they cannot be
   * read.
   */
  of(weights: Checkpoint): Promise<string | null>;
  close(): Promise<void>;
}

/** The thread's input. */
export interface WriteArgument {
  readonly weights: Checkpoint;
  readonly as: ServedAs;
  readonly place: string;
  readonly like: string | null;
  readonly base: string | null;
  readonly dtype: Dtype | 'keep';
}

/** `base` = it is a whole policy, and adapters are published. */
export type WriteResult = 'there' | 'written' | 'base';

/** Folders for servers on this disk; close them at the end. */
export function servedFolders(options: ServedFoldersOptions): ServedFolders {
  const { as, like = null, base = null, dtype = 'keep', keep = 3 } = options;
  const share = resolve(options.share);
  const seenAs = options.seenAs ?? share;
  let worker: WorkerHandle | null = null;
  /** One after the other: they write to the same disk. */
  let last: Promise<unknown> = Promise.resolve();

  const write = async (weights: Checkpoint): Promise<string | null> => {
    const label = labelOf(weights);
    await mkdir(share, { recursive: true });
    if (worker === null) await sweep();
    worker ??= startWorker(workerEntry('servedFolderWorker', import.meta.url));
    const argument: WriteArgument = {
      weights: { ...weights, uri: localPath(weights) },
      as,
      place: join(share, label),
      like,
      base,
      dtype,
    };
    const result = await worker.call<WriteResult>('write', argument);
    if (result === 'base') {
      if (weights.version === 0) return null;
      throw new MillraceError(
        'WEIGHTS_REFUSED',
        `version ${weights.version} is a whole policy, but adapters are published: let the trainer write adapters (trainer.adapterRank=16, trainer.adapterAs=adapter), or publish all weights (engine.publish=full)`,
        { context: { uri: weights.uri } },
      );
    }
    await forget(label);
    return `${seenAs.replace(/\/+$/, '')}/${label}`;
  };

  /** Deletes what killed processes left unfinished. */
  const sweep = async (): Promise<void> => {
    const left = await leftoversIn(share, 'files');
    await removeLeftovers(left.filter(({ path }) => isLabel(basename(path).split('.')[0] ?? '')));
  };

  /** Deletes all but the newest folders. */
  const forget = async (current: string): Promise<void> => {
    const version = (name: string) => Number(/\d+/.exec(name)?.[0]);
    const there = (await readdir(share)).filter((name) => isLabel(name) && name !== current);
    const old = there.sort((a, b) => version(b) - version(a)).slice(Math.max(0, keep - 1));
    for (const name of old) await rm(join(share, name), { recursive: true, force: true });
  };

  return {
    of(weights) {
      const written = last.then(() => write(weights));
      last = written.catch(() => undefined);
      return written;
    },
    async close() {
      await last;
      await worker?.close();
    },
  };
}
