/**
 * Where pairs of runs diverge: computed in the background, one pair at a time, and kept until one of the runs
 * has grown.
 */
import { messageOf } from '../../../base/index.ts';
import type { Reading } from '../../../streams/replay/index.ts';
import type { Divergence } from '../../wire/index.ts';
import { divergenceOf } from '../run/divergence.ts';
import type { HotRuns } from './hotRuns.ts';

const KEPT_MAX = 16;
const WAITING_MAX = 4;
/** A small pair is answered at once. */
const SOON_MS = 1_500;

interface Entry {
  /** Sizes of both, when it was looked for. */
  readonly sign: string;
  readonly divergence: Promise<Divergence>;
  /** How far it is. */
  pending: Divergence;
  done: boolean;
}

const WAITING: Divergence = { state: 'pending', read: null };

export class Divergences {
  readonly #hot: HotRuns;
  readonly #soonMs: number;
  readonly #entries = new Map<string, Entry>();
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(hot: HotRuns, soonMs = SOON_MS) {
    this.#hot = hot;
    this.#soonMs = soonMs;
  }

  /** What is known within a moment; `pending` while it is looked for. */
  async of(a: string, b: string): Promise<Divergence> {
    const pair = `${a}..${b}`;
    const sign = `${await this.#size(a)} ${await this.#size(b)}`;
    let entry = this.#entries.get(pair);
    // One that is under way is waited for, whatever came meanwhile.
    if (entry === undefined || (entry.done && entry.sign !== sign)) {
      if (this.#waiting >= WAITING_MAX) return WAITING;
      entry = this.#begin(pair, sign, [a, b]);
    }
    let timer: NodeJS.Timeout | undefined;
    const later = new Promise<Divergence>((resolve) => {
      timer = setTimeout(() => resolve(entry.pending), this.#soonMs);
    });
    const found = await Promise.race([entry.divergence, later]);
    clearTimeout(timer);
    return found;
  }

  #size(name: string): Promise<number> {
    return this.#hot.with(name, async ({ viewed }) =>
      (await viewed.log.stats()).reduce((sum, { records }) => sum + records, 0),
    );
  }

  #begin(pair: string, sign: string, [a, b]: readonly [string, string]): Entry {
    this.#waiting += 1;
    const divergence = this.#last.then(() =>
      this.#look(a, b, (records, of) => {
        entry.pending = { state: 'pending', read: { records, of } };
      }),
    );
    this.#last = divergence;
    const entry: Entry = { sign, divergence, pending: WAITING, done: false };
    void divergence.then(() => {
      entry.done = true;
      this.#waiting -= 1;
    });
    this.#entries.delete(pair);
    this.#entries.set(pair, entry);
    if (this.#entries.size > KEPT_MAX) this.#entries.delete([...this.#entries.keys()][0]!);
    return entry;
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
