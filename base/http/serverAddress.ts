/**
 * Addresses of servers as people write them: with or without the path of the interface, with or without a last slash; never
 * with a user, a password or a query, which would be shown and stored wherever the address is.
 */
import { MillraceError } from '../errors.ts';

export interface AddressWords {
  /** As messages call the server: `a model server`. */
  readonly what: string;
  /** A path at the end that is left out: `/v1`. */
  readonly suffix: string;
}

/** Without `suffix` and last slash. Fails with code `USAGE` on what is no plain http(s) URL, and repeats no secret of it. */
export function serverAddress(given: string, { what, suffix }: AddressWords): string {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    // Before an @ may be a password, however badly the rest is written; behind a ? a key.
    const shown = /[@?]/.test(given) ? 'the address given' : `'${given}'`;
    throw new MillraceError('USAGE', `${shown} is no address of ${what}: write http://host:8000`);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new MillraceError(
      'USAGE',
      `the address of ${what} at ${url.host} carries credentials or a query: put the key into an environment variable and name it in keyEnv`,
    );
  }
  const plain = (url.origin + url.pathname).replace(/\/+$/, '');
  return plain.endsWith(suffix) ? plain.slice(0, -suffix.length) : plain;
}
