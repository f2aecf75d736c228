/**
 * A subject: how one kind of vector is computed with this repository's functions. Adding one is a line in a
 * file of `subjects/`, and a new file is a line in `registry.ts`.
 */
import type { VectorFile } from './vectors.ts';

/** Computes the value of one case; may be asynchronous, may throw, may `skip`. */
export type Subject = (args: unknown, file: VectorFile) => unknown;

export type Subjects = Readonly<Record<string, Subject>>;

/** Gives the arguments of a case their type. Nothing is checked: a vector file says what it holds. */
export function subject<Args>(run: (args: Args, file: VectorFile) => unknown): Subject {
  return (args, file) => run(args as Args, file);
}

/** Thrown by a subject that cannot decide a case, with the reason. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
}
