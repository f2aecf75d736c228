/** A tool's output on its way in: first secrets are removed, then it is truncated. */
import { withoutSecrets } from '../../base/index.ts';
import { cutCodePoints } from '../text/characters.ts';

/** The text in at most `charactersMax` code points, followed by `...` if there are more. */
export function outputText(text: string, charactersMax: number): string {
  return cutCodePoints(withoutSecrets(text), charactersMax);
}
