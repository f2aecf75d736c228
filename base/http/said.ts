/**
 * A server's own words on an error: `error.message`, `error`, `message` or `detail` of a JSON reply, else the
 * reply as it is.
 */
import { outsideText } from '../outsideText.ts';

/** As a line that may be shown and stored. */
export function saidIn(reply: string): string {
  return outsideText(wordsIn(reply));
}

function wordsIn(reply: string): string {
  try {
    const body = JSON.parse(reply) as Readonly<Record<string, unknown>> | null;
    const error = body?.error as Readonly<Record<string, unknown>> | string | null | undefined;
    const said =
      (typeof error === 'object' ? error?.message : error) ?? body?.message ?? body?.detail ?? body;
    return typeof said === 'string' ? said : JSON.stringify(said);
  } catch {
    return reply;
  }
}
