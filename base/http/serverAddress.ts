/**
 * Addresses of servers as people write them: with or without the path of the interface, with or without a
 * trailing slash; never with a user, a password or a query, which would be shown and stored with the address.
 */
import { z } from 'zod';
import { MillraceError, messageOf } from '../errors.ts';
import { keepLogin, keepSecret } from '../secrets.ts';

export interface AddressWords {
  /** As messages call the server: `a model server`. */
  readonly what: string;
  /** A path at the end that is left out: `/v1`. */
  readonly suffix: string;
}

export const MODEL_SERVER: AddressWords = { what: 'a model server', suffix: '/v1' };
export const TRAINING_SERVICE: AddressWords = { what: 'a training service', suffix: '/api/v1' };

/**
 * Without `suffix` and last slash. Fails with code `USAGE` unless it is a plain http(s) URL; the message
 * shows no secret.
 */
export function serverAddress(given: string, { what, suffix }: AddressWords): string {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    // A password may come before an @, and a key after a ?, however badly the rest is written.
    const maySpeak = /[@?]/.test(given);
    if (maySpeak) keepSecret(given);
    const shown = maySpeak ? 'the address given' : `'${given}'`;
    throw new MillraceError(
      'USAGE',
      `${shown} is not a valid URL for ${what}: write http://host:8000`,
    );
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    keepSecret(given);
    keepLogin(url.username, url.password);
    throw new MillraceError(
      'USAGE',
      `the address of ${what} at ${url.host} carries credentials or a query: put the key into an environment variable and name it in keyEnv`,
    );
  }
  const plain = (url.origin + url.pathname).replace(/\/+$/, '');
  return plain.endsWith(suffix) ? plain.slice(0, -suffix.length) : plain;
}

/** Several, comma-separated; '' = none. Fails as `serverAddress` does. */
export function serverAddresses(given: string, words: AddressWords): string[] {
  const parts = given.split(',').map((part) => part.trim());
  try {
    return parts.filter((part) => part !== '').map((part) => serverAddress(part, words));
  } catch (error) {
    if (!/[@?]/.test(given)) throw error;
    // A comma may be of the password: then no part may be shown.
    for (const part of parts) keepSecret(part);
    throw new MillraceError('USAGE', messageOf(error));
  }
}

const KEY_NAME =
  /^(?:.*[_-])?(?:api_?-?key|key|access_?-?token|token|secret|password|passwd|pwd|auth|authorization|sig|signature|subscription[_-]key|appid)$/i;
const KEY_VALUE = /^(?:sk|pk|rk)[-_]|^gh[opsu]_|^xox[abp]-|^AKIA|^AIza|^hf_|^eyJ/;

/**
 * What secret an address carries: `a password`, `a key (api_key)`; null if it has none, or a blank
 * (`{key}`). The secret is masked from then on.
 */
export function keyIn(address: string): string | null {
  const blank = address.replace(/\{(\w+)\}/g, '__$1__');
  if (!URL.canParse(blank)) return null;
  const url = new URL(blank);
  if (url.username !== '' || url.password !== '') {
    keepLogin(url.username, url.password);
    return 'a password';
  }
  for (const [name, value] of url.searchParams) {
    if (value === '' || /__\w+__/.test(value)) continue;
    if (!KEY_NAME.test(name) && !KEY_VALUE.test(value)) continue;
    keepSecret(value);
    return `a key (${name})`;
  }
  return null;
}

/** Whether a header (`name: value`) is a login whose value is written out; it is kept secret from then on. */
export function isWrittenLogin(header: string): boolean {
  const colon = header.indexOf(':');
  const [name, value] = [header.slice(0, colon).trim(), header.slice(colon + 1).trim()];
  const isLogin =
    /^(?:authorization|proxy-authorization|cookie)$/i.test(name) || KEY_NAME.test(name);
  if (!isLogin || value === '' || /\{\w+\}/.test(value)) return false;
  keepSecret(value.replace(/^\w+ +/, ''));
  return true;
}

/** A setting that holds such addresses; checked with the settings, before they are stored anywhere. */
export function addressSetting(words: AddressWords): z.ZodString {
  return z.string().superRefine((text, context) => {
    try {
      serverAddresses(text, words);
    } catch (error) {
      context.addIssue({ code: 'custom', message: messageOf(error) });
    }
  });
}
