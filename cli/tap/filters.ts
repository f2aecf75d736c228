/** Which records a tap takes: by their key, by a text within (`--grep`), by an expression (`--where`). */
import { createContext, runInContext } from 'node:vm';
import { messageOf } from '../../base/index.ts';
import type { Stored } from '../../streams/index.ts';
import { usageError } from '../failure.ts';

/** Whether a record is taken. */
export type Filter = (stored: Stored<unknown>) => boolean;

/** `--key`, `--key-prefix`: any one of several will do. */
export function keyIs(keys: readonly string[], prefixes: readonly string[]): Filter {
  const wanted = new Set(keys);
  return ({ key }) => wanted.has(key) || prefixes.some((prefix) => key.startsWith(prefix));
}

/** `--grep`: the key, or a text anywhere within, matches. `error`, or `/error/i` with flags. */
export function grep(text: string): Filter {
  const expression = regExpIn(text);
  const matches = (value: unknown): boolean => {
    if (typeof value === 'string') return expression.test(value);
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
    return Object.values(value).some(matches);
  };
  return ({ key, value }) => matches(key) || matches(value);
}

function regExpIn(text: string): RegExp {
  const [, source = text, flags = ''] = /^\/(.+)\/([imsu]*)$/s.exec(text) ?? [];
  try {
    return new RegExp(source, flags);
  } catch (error) {
    throw usageError(
      `--grep takes a regular expression, for example 'no result' or '/error|failed/i': ${messageOf(error)}`,
    );
  }
}

export interface Where {
  matches(stored: Stored<unknown>): boolean;
  /** On how many records it failed, and the first reason. */
  failures(): { readonly count: number; readonly first: string };
}

/**
 * `--where`: a JavaScript expression, only for the user at the keyboard: `node:vm` gives it a scope of its
 * own and is not a sandbox. It sees `v` (the record), `k` (its key), `t` (its topic), `p` and `o` (its
 * partition and offset). If it fails on a record (a field that is not there) the record does not match; how
 * often is counted. Fails with code `USAGE` if the expression does not parse.
 */
export function where(expression: string): Where {
  const test = compile(expression);
  let count = 0;
  let first = '';
  return {
    matches({ topic, value, key, position }) {
      try {
        return Boolean(
          test({ v: value, k: key, t: topic, p: position.partition, o: position.offset }),
        );
      } catch (error) {
        // An error from the expression's own realm is not an `Error` of this one.
        if (count === 0)
          first = `${topic} offset ${position.offset}: ${(error as Error)?.message ?? error}`;
        count++;
        return false;
      }
    },
    failures: () => ({ count, first }),
  };
}

interface Scope {
  readonly v: unknown;
  readonly k: string;
  readonly t: string;
  readonly p: number;
  readonly o: number;
}
type Test = (scope: Scope) => unknown;

function compile(expression: string): Test {
  try {
    return runInContext(`({ v, k, t, p, o }) => (${expression}\n)`, createContext({})) as Test;
  } catch (error) {
    const example = '--where \'v.toolCalls > 2 && k.startsWith("train")\'';
    throw usageError(
      `--where is not a valid JavaScript expression: ${(error as Error).message}. Example: ${example}`,
    );
  }
}
