/**
 * The disk of a simulated run: checkpoints by name, each with its digest. It outlives every process, and may
 * be full for a while.
 */
import { createHash } from 'node:crypto';
import { MillraceError } from '../../base/index.ts';
import type { CheckpointStore } from '../../model/checkpoints/index.ts';
import type { Checkpoint } from '../../model/index.ts';

/** Every checkpoint of a simulated run has it. */
const SCHEME = 'simulated://';

export class Disk {
  readonly #files = new Map<string, string>();
  full = false;

  /** Whole, or not at all. */
  write(uri: string, text: string): void {
    if (this.full)
      throw new MillraceError('NO_SPACE', `${uri}: no space left on the simulated disk`);
    this.#files.set(uri, text);
  }

  /** Fails with code `CHECKPOINT` if it does not exist, `DIGEST` if it is another. */
  read({ uri, digest }: Checkpoint): string {
    const text = this.#files.get(uri);
    if (text === undefined) throw new MillraceError('CHECKPOINT', `${uri} is not on the disk`);
    const found = digestOf(text);
    if (digest !== null && digest !== found) {
      throw new MillraceError('DIGEST', `${uri} has digest ${found}, not ${digest}`);
    }
    return text;
  }

  has(uri: string): boolean {
    return this.#files.has(uri);
  }

  remove(uri: string): void {
    this.#files.delete(uri);
  }

  get files(): readonly string[] {
    return [...this.#files.keys()].sort();
  }
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Names of what a trainer writes for a version. */
export function filesOf(version: number): { readonly weights: string; readonly state: string } {
  return { weights: `${SCHEME}weights/${version}`, state: `${SCHEME}state/${version}` };
}

/** The checkpoints on it. */
export function checkpointsOn(disk: Disk): CheckpointStore {
  return {
    target: (version) => ({ version, folder: SCHEME }),
    async adopt(base) {
      const { weights: uri } = filesOf(0);
      disk.write(uri, base);
      return {
        weights: { version: 0, uri, digest: digestOf(base) },
        state: null,
        bytes: base.length,
      };
    },
    resolve: (recorded) => recorded,
    record: (resolved) => resolved,
    exists: async ({ uri }) => disk.has(uri),
    async condition(checkpoint) {
      if (!disk.has(checkpoint.uri)) return { kind: 'missing' };
      disk.read(checkpoint);
      return { kind: 'whole' };
    },
    remove: async ({ uri }) => disk.remove(uri),
    share: async () => undefined,
  };
}
