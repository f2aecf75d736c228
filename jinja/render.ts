/**
 * Jinja templates as transformers renders them: its immutable sandbox with trim_blocks, lstrip_blocks, break
 * and continue, its `tojson`, and Python's semantics for every value. What cannot be rendered that way is a
 * failure, never a different text.
 */
import { budgeted, TOO_DEEP } from './budget.ts';
import { checkNames } from './check.ts';
import { evaluate } from './evaluate.ts';
import { fail, TemplateFailure } from './failure.ts';
import { globals } from './globals.ts';
import { parse } from './parse.ts';
import { hiddenNames } from './scopes.ts';
import { type Run, runsOf } from './text.ts';
import type { Value } from './values.ts';

/**
 * The text a template makes from its variables. `now` is the date for `strftime_now`, in UTC. `timed` = the
 * caller has a deadline that ends it; without one it throws `NeedsDeadline` where it might take longer than a
 * second.
 */
export type Renderer = (
  variables: ReadonlyMap<string, Value>,
  now: Date | undefined,
  timed: boolean,
) => readonly Run[];

/** Compile a template. Throws a `TemplateFailure` with the line, even when it renders. */
export function compile(source: string): Renderer {
  return shallow(() => {
    const body = parse(source);
    checkNames(body);
    const hidden = hiddenNames(body);
    return (variables, now, timed) =>
      shallow(() =>
        budgeted(timed, () =>
          runsOf(evaluate(body, hidden, new Map([...globals(now), ...variables]))),
        ),
      );
  });
}

/** A stack overflow is a failure like any other. */
function shallow<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    if (error instanceof TemplateFailure || !(error instanceof RangeError)) throw error;
    return fail(TOO_DEEP);
  }
}
