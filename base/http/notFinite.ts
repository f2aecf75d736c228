/** Replies with non-finite numbers. JSON has no NaN, so servers write a bare word, null, or an error. */

/** A bare `NaN` or `Infinity` in place of a JSON value. */
const BARE = /[:[,]\s*-?(?:NaN|Infinity)\s*[,\]}]/;
/** How Python's JSON complains, within any error; other servers have their own wording. */
const NOT_JSON = /not JSON compliant/i;
const OWN_WORDS = /\bnan\b/i;

/** Whether an unparsable reply contains such numbers. */
export function holdsNaN(reply: string): boolean {
  return BARE.test(reply);
}

/** Whether a server's error reports such numbers. */
export function complainsOfNaN(status: number, said: string): boolean {
  return NOT_JSON.test(said) || (status >= 500 && OWN_WORDS.test(said));
}

/** The message: `who` was asked `what`. */
export function answersNaN(who: string, what: string, said: string): string {
  const words = said === '' ? '' : ` (${said})`;
  return (
    `${who} answered ${what} with NaN${words}: its weights or gradients are no longer finite, and asking again will not help. ` +
    'Go back to an earlier version (millrace rewind RUN --to step=N --into NAME, with a smaller lr), or restart the server if its own weights are broken'
  );
}
