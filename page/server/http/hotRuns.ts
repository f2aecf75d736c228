/**
 * The open runs: a bounded number, of which the one unused for longest is closed first. A stream keeps its
 * runs open; while all are in use, no other is opened.
 */
import { MillraceError } from '../../../base/index.ts';
import type { RunView } from '../run/runView.ts';

const OPEN_MAX = 4;
/** While streams keep them open. */
const KEPT_MAX = 16;

export interface Opened {
  readonly view: RunView;
  close(): Promise<void>;
}

interface Taken {
  readonly view: RunView;
  readonly release: () => void;
}

interface Entry {
  readonly opening: Promise<Opened>;
  users: number;
}

export class HotRuns {
  readonly #open: (name: string) => Promise<Opened>;
  /** The most recently used is last. */
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new Set<Promise<void>>();
  #closed = false;

  constructor(open: (name: string) => Promise<Opened>) {
    this.#open = open;
  }

  /** Keeps the run open however long `use` takes. Fails with `BUSY` when too many are open. */
  async with<T>(name: string, use: (view: RunView) => Promise<T>): Promise<T> {
    const { view, release } = await this.take(name);
    try {
      return await use(view);
    } finally {
      release();
    }
  }

  /** The same for several runs; `use` learns which of them do not exist. */
  async withAll<T>(
    names: readonly string[],
    use: (views: readonly RunView[], missing: readonly string[]) => Promise<T>,
  ): Promise<T> {
    const taken: Taken[] = [];
    const missing: string[] = [];
    try {
      for (const name of names) {
        const one = await this.take(name).catch(() => null);
        if (one === null) missing.push(name);
        else taken.push(one);
        await one?.view.ready();
      }
      return await use(
        taken.map(({ view }) => view),
        missing,
      );
    } finally {
      for (const { release } of taken) release();
    }
  }

  /** Kept open until it is released. */
  async take(name: string): Promise<Taken> {
    if (this.#closed) throw new MillraceError('CLOSED', 'the server is closing');
    const entry = this.#entries.get(name) ?? { opening: this.#open(name), users: 0 };
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    entry.users += 1;
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      entry.users -= 1;
      this.#trim();
    };
    try {
      this.#trim();
      if (this.#entries.size > KEPT_MAX) throw tooMany();
      const { view } = await entry.opening;
      return { view, release };
    } catch (error) {
      if (this.#entries.get(name) === entry && entry.users <= 1) this.#entries.delete(name);
      release();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const [name, entry] of this.#entries) this.#shut(name, entry);
    await Promise.all(this.#closing);
  }

  #trim(): void {
    for (const [name, entry] of this.#entries) {
      if (this.#entries.size <= OPEN_MAX) return;
      if (entry.users === 0) this.#shut(name, entry);
    }
  }

  #shut(name: string, { opening }: Entry): void {
    this.#entries.delete(name);
    const closing = opening.then((opened) => opened.close()).catch(() => undefined);
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }
}

function tooMany(): MillraceError {
  return new MillraceError(
    'BUSY',
    `${KEPT_MAX} runs are already open in other tabs; close some, or view this run with another \`millrace view\``,
  );
}
