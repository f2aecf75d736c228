/**
 * API keys come from the environment: settings hold the name of a variable, never a key.
 */
import { MillraceError } from '../errors.ts';
import { keepSecret } from '../secrets.ts';

/**
 * What the environment variable holds, from now on a kept secret; '' where `name` is ''. Fails with code
 * `USAGE` when the variable is empty; `whose` says whose key it is.
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
