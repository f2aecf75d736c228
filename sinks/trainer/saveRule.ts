/**
 * After which steps to save the optimiser's state with the weights: every n versions, or once some time has
 * passed. The manifest records what was done, and a replay does the same.
 */
import type { Clock } from '../../base/index.ts';

/** Every n versions, or after this long. */
export type SaveEvery = number | { readonly ms: number };

export interface SaveRuleOptions {
  readonly every: SaveEvery;
  /** On a replay, the versions whose state is recorded. */
  readonly recorded?: ((version: number) => boolean) | undefined;
  readonly clock: Clock;
}

export class SaveRule {
  readonly #options: SaveRuleOptions;
  #savedMs: number;

  constructor(options: SaveRuleOptions) {
    this.#options = options;
    this.#savedMs = options.clock.now();
  }

  /** Asked once per version. */
  saves(version: number): boolean {
    const { every, recorded, clock } = this.#options;
    if (recorded !== undefined) return recorded(version);
    if (typeof every === 'number') return version % every === 0;
    const now = clock.now();
    if (now - this.#savedMs < every.ms) return false;
    this.#savedMs = now;
    return true;
  }
}
