/**
 * Compared pairs of runs, kept until one of the two has grown. The figures come first; the first difference
 * is looked for afterwards, in the background, one pair at a time, since several at once would all take as
 * long as the longest.
 */
import { messageOf } from '../../../base/index.ts';
import type { Reading } from '../../../streams/replay/index.ts';
import type { Divergence } from '../../wire/index.ts';
import { divergenceOf } from '../run/divergence.ts';
import { type Figures, figuresOf } from '../views/diff.ts';
import type { HotRuns } from './hotRuns.ts';

const KEPT_MAX = 16;
const WAITING_MAX = 4;
/** A small pair is answered at once. */
const SOON_MS = 1_500;

interface Entry {
  /** The sizes of both runs at the time of the search. */
  readonly sign: string;
  readonly figures: Promise<Figures>;
  readonly divergence: Promise<Divergence>;
  /** How far the search has got. */
  pending: Divergence;
  done: boolean;
}

const WAITING: Divergence = { state: 'pending', read: null };

export interface Compared {
  readonly figures: Figures;
  readonly divergence: Divergence;
}

export class Comparisons {
  readonly #hot: HotRuns;
  readonly #means: { readonly soonMs: number; readonly figuresOf: typeof figuresOf };
  readonly #entries = new Map<string, Entry>();
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(hot: HotRuns, means: { soonMs?: number; figuresOf?: typeof figuresOf } = {}) {
    this.#hot = hot;
    this.#means = { soonMs: SOON_MS, figuresOf, ...means };
  }

  /** The figures, and whatever is known about the first difference a moment later. */
  async of(a: string, b: string): Promise<Compared> {
    const pair = `${a}..${b}`;
    const sign = `${await this.#size(a)} ${await this.#size(b)}`;
    let entry = this.#entries.get(pair);
    // A comparison under way is waited for, even if records have arrived since.
    if (entry === undefined || (entry.done && entry.sign !== sign)) {
      if (this.#waiting >= WAITING_MAX) {
        return { figures: await this.#figures(a, b), divergence: WAITING };
      }
      entry = this.#begin(pair, sign, [a, b]);
    }
    const figures = await entry.figures;
    let timer: NodeJS.Timeout | undefined;
    const later = new Promise<Divergence>((resolve) => {
      timer = setTimeout(() => resolve(entry.pending), this.#means.soonMs);
    });
    const found = await Promise.race([entry.divergence, later]);
    clearTimeout(timer);
    return { figures, divergence: found };
  }

  #size(name: string): Promise<number> {
    return this.#hot.with(name, async ({ viewed }) =>
      (await viewed.log.stats()).reduce((sum, { records }) => sum + records, 0),
    );
  }

  #begin(pair: string, sign: string, [a, b]: readonly [string, string]): Entry {
    this.#waiting += 1;
    const figures = this.#figures(a, b);
    // A pair that cannot be read is tried again.
    figures.catch(() => this.#entries.delete(pair));
    const divergence = Promise.allSettled([this.#last, figures]).then(() =>
      this.#look(a, b, (records, of) => {
        entry.pending = { state: 'pending', read: { records, of } };
      }),
    );
    this.#last = divergence;
    const entry: Entry = { sign, figures, divergence, pending: WAITING, done: false };
    void divergence.then(() => {
      entry.done = true;
      this.#waiting -= 1;
    });
    this.#entries.delete(pair);
    this.#entries.set(pair, entry);
    if (this.#entries.size > KEPT_MAX) this.#entries.delete([...this.#entries.keys()][0]!);
    return entry;
  }

  #figures(a: string, b: string): Promise<Figures> {
    return this.#hot.with(a, (first) =>
      this.#hot.with(b, (second) => this.#means.figuresOf(first, second)),
    );
  }

  /** Never rejects. */
  async #look(a: string, b: string, reading: Reading): Promise<Divergence> {
    try {
      return await this.#hot.with(a, (first) =>
        this.#hot.with(b, (second) => divergenceOf(first, second, reading)),
      );
    } catch (error) {
      return { state: 'failed', why: messageOf(error) };
    }
  }
}
