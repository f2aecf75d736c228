/**
 * Text from the web on its way to a policy or a summariser: well-formed, of bounded length, without invisible
 * characters: controls, marks that change the direction of writing, zero-width spaces, tag characters.
 * Joiners stay, because scripts and emoji need them.
 *
 * What the text says is not changed; the dialect's fence comes after this.
 */
import { withoutSecrets } from '../../../base/index.ts';
import { strip } from '../../text/characters.ts';

/** Controls and formatting characters, except line ends, joiners, and visible signs of Arabic. */
const UNSEEN =
  /(?![\t\n\u200c-\u200d\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2])(?:[\p{Cc}\p{Cf}\u3164\uffa0]|[\u{e0100}-\u{e01ef}])/gu;

/** The visible text, without secrets, of at most `charactersMax` UTF-16 units. */
export function webText(text: string, charactersMax: number): string {
  // Again, because any number of invisible characters may have been within a secret.
  const seen = withoutSecrets(
    withoutSecrets(text)
      .replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
      .replace(UNSEEN, ''),
  );
  const cut = seen.length > charactersMax ? seen.slice(0, charactersMax) : seen;
  // An encoder leaves no half of a pair.
  const wellFormed = Buffer.from(cut).toString();
  return wellFormed;
}

/** As `webText`, on one line. */
export function webLine(text: string, charactersMax: number): string {
  return strip(webText(text, charactersMax).replace(/\s+/g, ' '));
}
