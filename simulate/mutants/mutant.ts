/**
 * Faults planted to test whether the search finds them: a line of the product, and its replacement. They are
 * applied as a module is loaded (loader.ts), in a separate process; the product has no trace of them.
 */
export interface Mutant {
  readonly name: string;
  /** What is wrong with it, in words. */
  readonly about: string;
  /** The module without its extension; this text occurs in it once. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** A seed whose history shows it. */
  readonly seed: number;
  /** It is found within this many seeds, from 1 on. */
  readonly seeds: number;
}
