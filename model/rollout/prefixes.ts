/**
 * Contexts that are no longer active but whose keys and values are kept, in case a later request begins
 * alike.
 *
 * The next turn of a conversation, the other members of a group and a branch are all the same here: a request
 * with a long common prefix. A full store drops the least recently used slot.
 */
import type { CacheShape } from './forward.ts';
import { KvCache } from './kvCache.ts';

/** A row of a cache that holds `length` positions of these tokens. */
export interface Source {
  readonly cache: KvCache;
  readonly row: number;
  readonly length: number;
}

interface Slot {
  readonly row: number;
  tokens: Int32Array;
  usedAt: number;
}

/** How many tokens two contexts share from the start, at most `limit`. */
export function commonPrefix(a: Int32Array, b: Int32Array, limit: number): number {
  const end = Math.min(limit, a.length, b.length);
  let length = 0;
  while (length < end && a[length] === b[length]) length++;
  return length;
}

export class Prefixes {
  readonly #cache: KvCache;
  readonly #slots: Slot[];
  /** Counts uses; orders the slots by recency. */
  #uses = 0;

  /** `slots` contexts of at most `contextMax` tokens; 0 slots keep nothing. */
  constructor(shape: CacheShape, slots: number, contextMax: number) {
    this.#cache = new KvCache(shape, slots, contextMax);
    this.#slots = Array.from({ length: slots }, (_, row) => ({
      row,
      tokens: new Int32Array(0),
      usedAt: 0,
    }));
  }

  /** Forget all; the memory is used again. */
  clear(): void {
    for (const slot of this.#slots) {
      slot.tokens = new Int32Array(0);
      slot.usedAt = 0;
    }
  }

  /** The slot with the longest common prefix, at most `limit` tokens. */
  find(tokens: Int32Array, limit: number): Source {
    let best: Slot | undefined;
    let length = 0;
    for (const slot of this.#slots) {
      const common = commonPrefix(slot.tokens, tokens, limit);
      if (common <= length) continue;
      best = slot;
      length = common;
    }
    if (best) best.usedAt = ++this.#uses;
    return { cache: this.#cache, row: best?.row ?? 0, length };
  }

  /** Keep a copy of `tokens`, whose keys and values are the first positions of a cache's row. */
  keep(tokens: Int32Array, cache: KvCache, row: number): void {
    const slot = this.#slotFor(tokens);
    if (!slot) return;
    const known = commonPrefix(slot.tokens, tokens, tokens.length);
    slot.usedAt = ++this.#uses;
    if (known === tokens.length) return;
    slot.tokens = tokens.slice();
    this.#cache.copyFrom(cache, row, slot.row, tokens.length);
  }

  /** A slot that one of the two contexts covers, else the one used longest ago. */
  #slotFor(tokens: Int32Array): Slot | undefined {
    let oldest = this.#slots[0];
    for (const slot of this.#slots) {
      const shorter = Math.min(slot.tokens.length, tokens.length);
      if (shorter > 0 && commonPrefix(slot.tokens, tokens, shorter) === shorter) return slot;
      if (slot.usedAt < oldest!.usedAt) oldest = slot;
    }
    return oldest;
  }
}
