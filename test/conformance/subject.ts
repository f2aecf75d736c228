/**
 * A subject: how one kind of vector is computed with this repository's functions. Adding one is a line in a
 * file of `subjects/`, and a new file is a line in `registry.ts`.
 */
import type { VectorFile } from './vectors.ts';

/**
 * What computed a case: the code that users run; an oracle of the tests, where the product has no such thing;
 * or a published loop written out, where the product departs from it on purpose.
 */
export type Driven = 'product' | 'oracle' | 'detour';

/** What a case is computed from besides its arguments. */
export interface CaseContext {
  readonly file: VectorFile;
  /** The expected value, for subjects if it says which numbers are wanted (places in a tensor, say). */
  readonly expect: unknown;
  /**
   * Says that something else than the product computes the case, and what the product lacks or does instead.
   */
  readonly by: (driven: Exclude<Driven, 'product'>, why: string) => void;
}

/** Computes the value of one case; may be asynchronous, may throw, may throw `Skipped`. */
export interface Subject {
  (args: unknown, context: CaseContext): unknown;
  /** Called after the last case of a file. */
  readonly close?: () => Promise<void>;
}

export type Subjects = Readonly<Record<string, Subject>>;

/** Gives the arguments of a case their type. Nothing is checked: a vector file says what it holds. */
export function subject<Args>(run: (args: Args, context: CaseContext) => unknown): Subject {
  return (args, context) => run(args as Args, context);
}

/** A subject that an oracle of the tests computes, for the product has no such thing: `lacks` says which. */
export function oracle<Args>(lacks: string, run: (args: Args) => unknown): Subject {
  return subject<Args>((args, { by }) => {
    by('oracle', lacks);
    return run(args);
  });
}

interface Closable {
  close(): Promise<void>;
}

/**
 * A subject that needs something opened (a process, a model's session): at its first case, closed after the
 * last.
 */
export function subjectWith<Args, Resource extends Closable>(
  open: () => Resource,
  run: (args: Args, resource: Resource, context: CaseContext) => unknown,
): Subject {
  let resource: Resource | null = null;
  const compute: Subject = (args, context) => {
    resource ??= open();
    return run(args as Args, resource, context);
  };
  return Object.assign(compute, {
    async close() {
      await resource?.close();
      resource = null;
    },
  });
}

/** Thrown by a subject that cannot decide a case, with the reason. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
}

/** A value of which only its own keys are compared, for subjects that do not give all that a vector holds. */
export class Part {
  readonly value: Readonly<Record<string, unknown>>;

  constructor(value: Readonly<Record<string, unknown>>) {
    this.value = value;
  }
}
