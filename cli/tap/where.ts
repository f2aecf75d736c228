/**
 * `--where`: a JavaScript expression over a record, for the person at the keyboard and nobody else.
 *
 * `node:vm` gives the expression a scope of its own; it is no sandbox. It sees `v` (the record), `k` (its
 * key), `t` (its topic), `p` and `o` (its partition and offset). An expression that fails on a record (a field that is not there) does not
 * match it; how often that happened is counted.
 */
import { createContext, runInContext } from 'node:vm';
import type { Stored } from '../../streams/log.ts';
import { usageError } from '../failure.ts';

export interface Where {
  matches(stored: Stored<unknown>): boolean;
  /** On how many records it failed, and the first reason. */
  failures(): { readonly count: number; readonly first: string };
}

/** Fails with code `USAGE` when the expression does not parse. */
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
        // An error of the expression's own realm is no `Error` of ours.
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
      `--where is no JavaScript expression: ${(error as Error).message}. For example: ${example}`,
    );
  }
}
