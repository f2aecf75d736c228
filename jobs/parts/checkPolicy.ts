/** Whether a policy that works in this process fits into its own context and into this machine, before anything is loaded. */
import { MillraceError } from '../../base/errors.ts';
import { openPolicy } from '../../model/hf/loadPolicy.ts';
import type { Provider } from '../../model/runtime/provider.ts';
import { checkMemory, type LocalUse } from './memory.ts';
import type { PolicyPlace } from './policyPlace.ts';

/** What is done with it here, and with how long a context. */
export interface PolicyUse extends LocalUse {
  /** Longest context, in tokens. */
  readonly contextMax: number;
  /** The settings that it follows from, with their verb: `promptMax + responseMax come to`. */
  readonly limits: string;
  readonly provider: Provider;
  readonly print: (line: string) => void;
}

/** Fails with code `USAGE` or `MEMORY`; prints a line where memory will be close. */
export async function checkPolicy(policy: PolicyPlace, use: PolicyUse): Promise<void> {
  if (!use.generates && !use.trains) return;
  const { config, close } = await openPolicy(policy.path);
  await close();
  const { contextMax, limits, provider, print } = use;
  const { maxPositions } = config;
  if (maxPositions !== undefined && contextMax > maxPositions) {
    throw new MillraceError(
      'USAGE',
      `the context of ${policy.name} has ${maxPositions} tokens, and ${limits} ${contextMax}: lower it`,
    );
  }
  if (provider !== 'cpu') return;
  const warning = checkMemory({ name: policy.name, config }, use);
  if (warning !== null) print(warning);
}
