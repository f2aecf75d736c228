/**
 * Plants one fault while modules are loaded: a hook of Node, registered with `{ file, find, replace }`
 * (`module.register`). Fails if the text does not occur exactly once: the product has changed, and the mutant
 * has to follow.
 */
import type { LoadHook } from 'node:module';
import type { Mutant } from './mutant.ts';

let mutant: Pick<Mutant, 'file' | 'find' | 'replace'> | null = null;

export function initialize(data: NonNullable<typeof mutant>): void {
  mutant = data;
}

export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  if (mutant === null || !url.endsWith(`/${mutant.file}.js`)) return loaded;
  const { find, replace } = mutant;
  const parts = String(loaded.source).split(find);
  if (parts.length !== 2)
    throw new Error(`${url} has ${JSON.stringify(find)} ${parts.length - 1} times`);
  return { ...loaded, source: parts.join(replace) };
};
