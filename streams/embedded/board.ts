/**
 * What the writing process says about itself: a small file beside the log, replaced by a rename.
 *
 * Not a record and not flushed: it is for who looks at a live run, and after a crash it may be old or missing.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export class Board {
  readonly #path: string;

  constructor(folder: string) {
    this.#path = join(folder, 'board.json');
  }

  async post(about: unknown): Promise<void> {
    await writeFile(`${this.#path}.new`, JSON.stringify(about));
    await rename(`${this.#path}.new`, this.#path);
  }

  /** What was put up last; nothing where nobody has, or where the file is cut short. */
  async posted(): Promise<readonly unknown[]> {
    try {
      return [JSON.parse(await readFile(this.#path, 'utf8'))];
    } catch {
      return [];
    }
  }
}
