/** What a tool gives, on its way in: without secrets, and only then cut. */
import { withoutSecrets } from '../../base/index.ts';
import { cutCodePoints } from '../text/characters.ts';

/** The text in at most `charactersMax` code points, and `...` if there are more. */
export function outputText(text: string, charactersMax: number): string {
  return cutCodePoints(withoutSecrets(text), charactersMax);
}
