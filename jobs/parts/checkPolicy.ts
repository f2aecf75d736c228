/**
 * Whether a policy that works in this process fits its own context and this machine, checked before anything
 * is loaded.
 */
import { MillraceError } from '../../base/index.ts';
import { openPolicy } from '../../model/hf/index.ts';
import type { Provider } from '../../model/runtime/index.ts';
import { checkMemory, type LocalUse } from './memory.ts';
import type { PolicyPlace } from './policyPlace.ts';

/** What this process does with it, and the longest context. */
export interface PolicyUse extends LocalUse {
  /** The settings that the context follows from, with a verb: `promptMax + responseMax come to`. */
  readonly limits: string;
  readonly provider: Provider;
  readonly print: (line: string) => void;
}

/**
 * The size of its vocabulary; undefined if this process does not use it. Fails with code `USAGE` or `MEMORY`;
 * prints a line if memory will be tight.
 */
export async function checkPolicy(
  policy: Pick<PolicyPlace, 'path' | 'name'>,
  use: PolicyUse,
): Promise<number | undefined> {
  if (use.generates === null && use.trains === null) return undefined;
  const { config, close } = await openPolicy(policy.path);
  await close();
  const { contextMax, limits, provider, print } = use;
  const { maxPositions } = config;
  if (maxPositions !== undefined && contextMax > maxPositions) {
    throw new MillraceError(
      'USAGE',
      `${policy.name} has a context of ${maxPositions} tokens, but ${limits} ${contextMax}: reduce that`,
    );
  }
  const warning = provider === 'cpu' ? checkMemory({ name: policy.name, config }, use) : null;
  if (warning !== null) print(warning);
  return config.vocabSize;
}
