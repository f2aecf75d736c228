/**
 * Faults that are planted to see whether the search finds them: what a line of the product is, and what it is
 * made instead. They are applied as a module is loaded (loader.ts), in a process of their own; the product
 * has no trace of them.
 */
export interface Mutant {
  readonly name: string;
  /** What is wrong with it, in words. */
  readonly about: string;
  /** The module without its ending; it has this text once. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** A seed whose history shows it. */
  readonly seed: number;
  /** It is found within so many seeds, from 1 on. */
  readonly seeds: number;
}
