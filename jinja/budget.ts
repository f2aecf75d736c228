/**
 * Bounds what a template may do: its steps, and the characters and items that it makes, are counted, so that
 * one that never ends, or keeps doubling a text, fails soon. Counting is exact: the same template and
 * messages always end in the same place.
 *
 * A step may take long for what it is given (a text of megabytes searched, a list sorted). Under a deadline
 * that is not our care. Without one, what is looked through counts too, and what may take longer than that
 * says so (`uncounted`): both end with `NeedsDeadline`. Starting a deadline costs more than rendering a short
 * chat.
 *
 * Rendering is synchronous and renders nothing within itself, so one count is enough.
 */
import { fail } from './failure.ts';

export const TOO_DEEP = 'it is nested too deeply';

/** A conversation of a megabyte takes a few hundred thousand. */
const WORK_MAX = 2_000_000;
/** The same without a deadline. The slowest steps that count take a few microseconds. */
const QUICK_MAX = 500_000;
/** Characters that cost as much as a step. */
const CHARACTERS = 8;

/** Statements and expressions within each other, those of called macros included. */
const DEPTH_MAX = 400;

/** The template cannot be rendered without a deadline, but perhaps with one. */
export class NeedsDeadline extends Error {}

let left = Number.POSITIVE_INFINITY;
/** Infinity under a deadline. */
let quick = Number.POSITIVE_INFINITY;
let depth = 0;

/** The result of `act`, within the budget. `timed` = the caller has a deadline that ends it. */
export function budgeted<Result>(timed: boolean, act: () => Result): Result {
  left = WORK_MAX;
  quick = timed ? Number.POSITIVE_INFINITY : QUICK_MAX;
  try {
    return act();
  } finally {
    left = Number.POSITIVE_INFINITY;
    quick = Number.POSITIVE_INFINITY;
  }
}

/** Spends this many steps or items. */
export function spend(work = 1): void {
  left -= work;
  if (left < 0)
    fail('the template does not end, or produces more text than any conversation needs');
  take(work);
}

/** Spends for searching this many characters. */
export function scan(characters: number): void {
  take(characters / CHARACTERS);
}

/** Spends for visiting this many items or names. */
export function visit(items: number): void {
  take(items);
}

/** What follows may take longer than its input tells. */
export function uncounted(): void {
  if (Number.isFinite(quick)) throw new NeedsDeadline();
}

function take(work: number): void {
  quick -= work;
  if (quick < 0) throw new NeedsDeadline();
}

/** The result of `act` and what it spent; null if nothing is counted. */
export function metered<Result>(act: () => Result): {
  readonly result: Result;
  readonly work: number | null;
} {
  const before = left;
  const result = act();
  return { result, work: Number.isFinite(before) ? before - left : null };
}

/**
 * One level deeper. Counted, not left to the stack: V8 ends the whole process where a regular expression is
 * compiled on a stack that is nearly full, so an overflow cannot be caught with certainty.
 */
export function deeper<Result>(act: () => Result): Result {
  if (depth === DEPTH_MAX) fail(TOO_DEEP);
  depth++;
  try {
    return act();
  } finally {
    depth--;
  }
}

/** Spends for making or scanning this many characters. */
export function spendText(characters: number): void {
  spend(characters / CHARACTERS);
}
