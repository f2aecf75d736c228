/**
 * Continuous batching: every step draws one token for each active row; a row that ends makes room at once.
 *
 * Active rows are rows [0, n) of the cache, without gaps. A new row copies the longest prefix that another
 * row or a kept context already has, the rest of its context is prefilled, and it joins the next step. Which
 * rows share a step, and what was copied, does not show in a row's tokens or log-probs (the promise of
 * `Forward` plus draws that are keyed by place).
 */
import { messageOf } from '../../base/index.ts';
import type { GenerateRequest } from '../engine.ts';
import type { Forward, ForwardInput } from './forward.ts';
import { KvCache } from './kvCache.ts';
import { commonPrefix, Prefixes, type Source } from './prefixes.ts';
import { Row, type RowResult } from './row.ts';
import { sample } from './sampler.ts';
import type { TokenBytes } from './tokenBytes.ts';

export interface BatcherOptions {
  /** Rows that are active at once. */
  readonly rowsMax: number;
  /** Longest context in tokens. */
  readonly contextMax: number;
  /** Contexts kept for reuse after their row ended; 0 = none. */
  readonly prefixSlots: number;
  /** The bytes of each token, for requests with stop texts; without them there can be none. */
  readonly tokenBytes?: TokenBytes | undefined;
}

/** One request's end. */
export type Outcome =
  | { readonly id: number; readonly result: RowResult }
  | { readonly id: number; readonly error: string };

export interface Counts {
  readonly generatedTokens: number;
  /** Context tokens that went through the model. */
  readonly prefillTokens: number;
  /** Context tokens whose keys and values were copied instead. */
  readonly reusedTokens: number;
  readonly steps: number;
}

/** A cache's capacity is a multiple of this; so is the unit in which sums over positions are formed. */
const CAPACITY_UNIT = 64;
/** Widths of a prefill; a longer rest takes several. */
const WIDTHS = [8, 16, 32, 64, 128] as const;
/** Most places (rows x width) in one prefill, which bounds its memory. */
const PREFILL_PLACES_MAX = 2048;
/** A request waits for another's prefill if that saves at least this many tokens. */
const SHARE_TOKENS_MIN = 16;

/** Highest position that a batcher needs, padding included, plus one. */
export function positionsMax({ contextMax }: BatcherOptions): number {
  return contextMax + WIDTHS[WIDTHS.length - 1]!;
}

export class Batcher {
  readonly #options: BatcherOptions;
  #forward: Forward;
  #version: number;
  #cache: KvCache;
  #prefixes: Prefixes;
  readonly #rows: Row[] = [];
  #waiting: Row[] = [];
  readonly #cancelled = new Set<number>();
  readonly #counts = { generatedTokens: 0, prefillTokens: 0, reusedTokens: 0, steps: 0 };

  /** `version`: that of the model's weights. */
  constructor(forward: Forward, version: number, options: BatcherOptions) {
    this.#options = options;
    this.#forward = forward;
    this.#version = version;
    this.#cache = makeCache(forward, options);
    this.#prefixes = makePrefixes(forward, options);
  }

  /** Rows being generated. */
  get active(): number {
    return this.#rows.length;
  }

  /** Whether any request has not ended. */
  get busy(): boolean {
    return this.#rows.length + this.#waiting.length > 0;
  }

  get counts(): Counts {
    return { ...this.#counts };
  }

  /**
   * Switches to another model; nothing cached stays (a NaN must not outlive its policy). Active rows keep
   * their tokens and enter again, before waiting ones: their contexts are computed from scratch, so that the
   * new model decides what follows.
   */
  replace(forward: Forward, version: number): void {
    const active = this.#rows.splice(0);
    for (const row of active) row.cached = 0;
    this.#waiting.unshift(...active);
    if (isAlike(forward, this.#forward)) {
      // memory of this size takes longer to allocate than to clear
      this.#cache.clear();
      this.#prefixes.clear();
    } else {
      this.#cache = makeCache(forward, this.#options);
      this.#prefixes = makePrefixes(forward, this.#options);
    }
    this.#forward = forward;
    this.#version = version;
  }

  /**
   * Queues a request after those of its priority. Throws if a token is not in the vocabulary, as it would
   * fail its whole batch.
   */
  submit(id: number, request: GenerateRequest): void {
    const { vocabSize } = this.#forward;
    const alien = request.tokens.find((token) => !(token >= 0 && token < vocabSize));
    if (alien !== undefined) {
      throw new Error(`token ${alien} is not in the policy's vocabulary of ${vocabSize}`);
    }
    const { contextMax, tokenBytes } = this.#options;
    if ((request.stopTexts?.length ?? 0) > 0 && tokenBytes === undefined)
      throw new Error('stop texts need the bytes of the tokens: start the engine with tokenBytes');
    const row = new Row(id, request, { contextMax, tokenBytes });
    const before = this.#waiting.findLastIndex(({ priority }) => priority <= row.priority);
    this.#waiting.splice(before + 1, 0, row);
  }

  /** Forgets a request (before the next step); what it has cached is kept for others. */
  cancel(id: number): void {
    this.#cancelled.add(id);
  }

  /** Takes in waiting requests while there are free rows. */
  async admit(): Promise<void> {
    this.#dropCancelled();
    const entering = this.#waiting.splice(0, this.#options.rowsMax - this.#rows.length);
    for (let rest = entering; rest.length > 0; ) {
      const { now, later } = this.#wave(rest);
      await this.#enter(now);
      rest = later;
    }
  }

  /** Draws one token for every active row; returns the requests that ended. */
  async step(): Promise<Outcome[]> {
    this.#dropCancelled();
    const rows = this.#rows;
    if (rows.length === 0) return [];
    this.#fit(Math.max(...rows.map((row) => row.cached + 1)));
    const output = await this.#forward.decode(this.#input(0, rows.length, 1));
    const vocabSize = this.#forward.vocabSize;
    const outcomes: Outcome[] = [];
    this.#counts.steps++;
    rows.forEach((row, index) => {
      this.#cache.write(index, row.cached++, 1, output, index, 1);
      const outcome = this.#draw(
        row,
        output.shares.subarray(index * vocabSize, (index + 1) * vocabSize),
        output.peaks[index]!,
      );
      if (outcome) outcomes.push(outcome);
    });
    const ended = new Set(outcomes.map((outcome) => outcome.id));
    for (let i = rows.length - 1; i >= 0; i--) if (ended.has(rows[i]!.id)) this.#remove(i);
    return outcomes;
  }

  /** Fails every request that has not ended. */
  abandon(error: string): Outcome[] {
    const all = [...this.#rows.splice(0), ...this.#waiting.splice(0)];
    return all.map((row) => ({ id: row.id, error }));
  }

  #dropCancelled(): void {
    if (this.#cancelled.size === 0) return;
    this.#waiting = this.#waiting.filter((row) => !this.#cancelled.has(row.id));
    for (let i = this.#rows.length - 1; i >= 0; i--) {
      if (this.#cancelled.has(this.#rows[i]!.id)) this.#remove(i);
    }
    this.#cancelled.clear();
  }

  #draw(row: Row, shares: Float32Array, peak: number): Outcome | undefined {
    try {
      const result = row.append(sample(shares, row.sampling(peak)), this.#version);
      this.#counts.generatedTokens++;
      return result && { id: row.id, result };
    } catch (error) {
      return { id: row.id, error: messageOf(error) };
    }
  }

  /** Split newcomers: who enters now, and who waits because one of those computes a prefix they share. */
  #wave(rows: readonly Row[]): { now: { row: Row; source: Source }[]; later: Row[] } {
    const now: { row: Row; source: Source }[] = [];
    const later: Row[] = [];
    for (const row of rows) {
      const source = this.#source(row);
      const limit = row.tokens.length - 1;
      const worth = source.length + SHARE_TOKENS_MIN;
      const shares = now.some((other) => {
        return (
          commonPrefix(
            other.row.tokens,
            row.tokens,
            Math.min(limit, other.row.tokens.length - 1),
          ) >= worth
        );
      });
      if (shares) later.push(row);
      else now.push({ row, source });
    }
    return { now, later };
  }

  /** Where the longest prefix of a row's context is cached; its last token is always computed. */
  #source(row: Row): Source {
    const limit = row.tokens.length - 1;
    if (this.#options.prefixSlots === 0) return { cache: this.#cache, row: 0, length: 0 };
    let best = this.#prefixes.find(row.tokens, limit);
    this.#rows.forEach((other, index) => {
      const length = commonPrefix(other.tokens, row.tokens, Math.min(limit, other.cached));
      if (length > best.length) best = { cache: this.#cache, row: index, length };
    });
    return best;
  }

  /**
   * Copy prefixes into the next free rows, then compute the rest: longest first, so that widths are alike.
   */
  async #enter(newcomers: { row: Row; source: Source }[]): Promise<void> {
    const first = this.#rows.length;
    const missing = (each: { row: Row; source: Source }) =>
      each.row.tokens.length - each.source.length;
    newcomers.sort((a, b) => missing(b) - missing(a));
    this.#fit(
      Math.max(
        ...[...this.#rows, ...newcomers.map((each) => each.row)].map((row) => row.tokens.length),
      ),
    );
    newcomers.forEach(({ row, source }, index) => {
      this.#cache.copyFrom(source.cache, source.row, first + index, source.length);
      row.cached = source.length;
      this.#counts.reusedTokens += source.length;
      this.#rows.push(row);
    });
    for (let at = first; at < this.#rows.length; ) at += await this.#prefill(at);
  }

  /**
   * Computes part of what is missing for the rows from `first` on; returns how many rows are then complete.
   */
  async #prefill(first: number): Promise<number> {
    const rows = this.#rows;
    if (rows[first]!.missing === 0) return 1;
    const width = widthFor(rows[first]!.missing);
    let count = 1;
    const countMax = Math.max(1, Math.floor(PREFILL_PLACES_MAX / width));
    while (
      count < countMax &&
      first + count < rows.length &&
      widthFor(rows[first + count]!.missing) === width
    )
      count++;
    const output = await this.#forward.prefill(this.#input(first, count, width));
    let done = 0;
    for (let i = 0; i < count; i++) {
      const row = rows[first + i]!;
      const taken = Math.min(width, row.missing);
      this.#cache.write(first + i, row.cached, taken, output, i, width);
      row.cached += taken;
      this.#counts.prefillTokens += taken;
      if (row.missing === 0) done++;
    }
    return done === count ? count : 0;
  }

  /** The next `width` tokens of `count` rows. */
  #input(first: number, count: number, width: number): ForwardInput {
    const rows = Math.max(count, this.#forward.rowsMin);
    const tokens = new Int32Array(rows * width);
    const positions = new Int32Array(rows * width);
    for (let i = 0; i < count; i++) {
      const row = this.#rows[first + i]!;
      tokens.set(row.tokens.subarray(row.cached, row.cached + width), i * width);
      for (let t = 0; t < width; t++) positions[i * width + t] = row.cached + t;
    }
    const { capacity } = this.#cache;
    return { rows, width, tokens, positions, capacity, ...this.#cache.view(first, rows) };
  }

  /** Gives the cache the smallest capacity for contexts of `length` tokens. */
  #fit(length: number): void {
    this.#cache.resize(roundUp(length, CAPACITY_UNIT), this.#rows.length);
  }

  /** Ends a row: keeps its context and moves the last row into its place. */
  #remove(index: number): void {
    const row = this.#rows[index]!;
    this.#prefixes.keep(row.tokens.subarray(0, row.cached), this.#cache, index);
    const last = this.#rows.length - 1;
    const moved = this.#rows.pop()!;
    if (index === last) return;
    this.#cache.copyFrom(this.#cache, last, index, moved.cached);
    this.#rows[index] = moved;
  }
}

function makeCache({ shape, rowsMin }: Forward, { rowsMax, contextMax }: BatcherOptions): KvCache {
  return new KvCache(shape, rowsMax + rowsMin - 1, roundUp(contextMax, CAPACITY_UNIT));
}

/** Whether the caches of one serve the other. */
function isAlike(a: Forward, b: Forward): boolean {
  const sizes = ({ shape, rowsMin }: Forward) =>
    [shape.layers, shape.kvHeads, shape.headDim, rowsMin].join();
  return sizes(a) === sizes(b);
}

function makePrefixes({ shape }: Forward, options: BatcherOptions): Prefixes {
  return new Prefixes(shape, options.prefixSlots, options.contextMax);
}

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}

/** The smallest width for `missing` tokens, or the largest there is. */
function widthFor(missing: number): number {
  return WIDTHS.find((width) => width >= missing) ?? WIDTHS[WIDTHS.length - 1]!;
}
