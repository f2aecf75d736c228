/** `--key`, `--key-prefix`: records by their key. Several of either are alternatives. */
import type { Thin } from './thin.ts';

export function keyIs(keys: readonly string[], prefixes: readonly string[]): Thin {
  const wanted = new Set(keys);
  return ({ key }) => wanted.has(key) || prefixes.some((prefix) => key.startsWith(prefix));
}
