/**
 * Text from outside (a server's reply, a tool's failure, a child process) on its way into a reason, a message
 * or a record: first secrets are removed, then it is put on one line without terminal controls, and only then
 * cut.
 */
import { withoutSecrets } from './secrets.ts';
import { visible } from './text/visible.ts';

const CHARACTERS_MAX = 400;

/** The text, safe to show and store, in at most `charactersMax` characters and `…`. */
export function outsideText(text: string, charactersMax: number = CHARACTERS_MAX): string {
  const clean = withoutSecrets(text).trim();
  // Do not process what cannot be shown: white space shrinks, escapes grow.
  const line = visible(clean.slice(0, 8 * charactersMax).replace(/\s+/g, ' '));
  const cut = clean.length > 8 * charactersMax || line.length > charactersMax;
  return cut ? `${line.slice(0, charactersMax)}…` : line;
}
