/**
 * API keys come from the environment: settings hold the name of a variable, never a key.
 */
import { MillraceError } from '../errors.ts';
import { keepSecret } from '../secrets.ts';

/**
 * The value of the environment variable, which is kept secret from now on; '' if `name` is ''. Fails with
 * code `USAGE` if the variable is empty; `whose` says whose key it is.
 */
export function apiKey(name: string, whose: string): string {
  if (name === '') return '';
  const key = process.env[name]?.trim() ?? '';
  if (key === '') {
    throw new MillraceError(
      'USAGE',
      `the environment variable ${name} is empty: put ${whose} API key there, or clear keyEnv`,
    );
  }
  keepSecret(key);
  return key;
}
