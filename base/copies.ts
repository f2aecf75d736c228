/**
 * Which copies of this library are loaded in this process: each registers itself on loading.
 *
 * Two copies do not work together: each treats what the other made (a delivery, an error, a schema) as
 * foreign. It happens when a job file imports a different copy from the one that runs it.
 */
import { fileURLToPath } from 'node:url';

const LOADED = Symbol.for('millrace.copies');

const all = globalThis as { [LOADED]?: Set<string> };
all[LOADED] ??= new Set();
const own = fileURLToPath(new URL('..', import.meta.url)).replace(/[/\\]$/, '');
all[LOADED].add(own);

/** The folder of this copy, and those of the others. */
export function copies(): { readonly own: string; readonly others: readonly string[] } {
  return { own, others: [...all[LOADED]!].filter((folder) => folder !== own) };
}
