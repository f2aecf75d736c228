/** `--grep`: records of which the key, or a text anywhere within, matches a regular expression. */
import { messageOf } from '../../base/errors.ts';
import { usageError } from '../failure.ts';
import type { Thin } from './thin.ts';

/** `error`, or `/error/i` with flags. */
export function grep(text: string): Thin {
  const expression = compile(text);
  const matches = (value: unknown): boolean => {
    if (typeof value === 'string') return expression.test(value);
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
    return Object.values(value).some(matches);
  };
  return ({ key, value }) => matches(key) || matches(value);
}

function compile(text: string): RegExp {
  const [, source = text, flags = ''] = /^\/(.+)\/([imsu]*)$/s.exec(text) ?? [];
  try {
    return new RegExp(source, flags);
  } catch (error) {
    throw usageError(
      `--grep takes a regular expression, for example 'no result' or '/error|failed/i': ${messageOf(error)}`,
    );
  }
}
