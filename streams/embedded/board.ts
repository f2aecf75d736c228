/**
 * What the writing process says about itself: a small file next to the log, replaced by a rename.
 *
 * Not a record and not flushed: it is for watching a live run, and after a crash it may be old or
 * missing.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../../base/index.ts';

/** The file where a process reports what it does. */
export type StatusBoard = Pick<Board, 'post' | 'posted'>;

export class Board {
  readonly #path: string;

  constructor(folder: string) {
    this.#path = join(folder, 'board.json');
  }

  async post(about: unknown): Promise<void> {
    await replaceFile(this.#path, JSON.stringify(about));
  }

  /** The last post; empty if there is none, or if the file is cut short. */
  async posted(): Promise<readonly unknown[]> {
    try {
      return [JSON.parse(await readFile(this.#path, 'utf8'))];
    } catch {
      return [];
    }
  }
}
