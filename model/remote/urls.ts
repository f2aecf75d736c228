/**
 * Base URLs of model servers as people write them: with or without `/v1`, with or without a last slash.
 */
import { MillraceError } from '../../base/errors.ts';

/** Without path suffix `/v1` and last slash. Fails with code `USAGE` on what is no plain http(s) URL. */
export function baseUrls(urls: readonly string[]): string[] {
  if (urls.length === 0) throw new MillraceError('USAGE', 'no model server is named: give its URL');
  return urls.map(baseUrl);
}

function baseUrl(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new MillraceError('USAGE', `'${given}' is not an http(s) URL: write http://host:8000`);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new MillraceError(
      'USAGE',
      `the URL of ${url.host} carries credentials or a query: put the key into an environment variable and name it in keyEnv`,
    );
  }
  return (url.origin + url.pathname).replace(/\/+$/, '').replace(/\/v1$/, '');
}
