/**
 * The monitored rollout of a question, from which AEPO splits a group's budget (AEPO reference §2.1): how unsure
 * the policy is at the question itself, and along one whole rollout.
 *
 * Both samples have draws of their own and are thrown away: their tool calls are made but recorded nowhere. One
 * that fails gives what it had; what ails the question shows in the group's own rollouts.
 */
import type { RolloutOptions } from '../rollout.ts';
import { advanceBranch, type Growth } from './advanceBranch.ts';
import { root } from './branch.ts';

export interface Monitored {
  /** Step entropy of the first tokens after the prompt; 0 when there are none. */
  readonly rootEntropy: number;
  /** Step entropies of all segments of the rollout, the first included. */
  readonly segmentEntropies: readonly number[];
}

/** Rejects only when the signal aborts. `entropyTokens` = tokens that count for a step entropy. */
export async function monitor(growth: Growth, entropyTokens: number): Promise<Monitored> {
  const { responseMax } = growth.options;
  // A rollout of the counting tokens alone: more would not change their entropy, and no call is made.
  const brief = { responseMax: Math.min(responseMax, entropyTokens), callLimit: 0 };
  const [atRoot, segmentEntropies] = await Promise.all([
    watch(growth, 'question', brief),
    watch(growth, 'monitor', {}),
  ]);
  return { rootEntropy: atRoot[0] ?? 0, segmentEntropies };
}

/** Step entropies of the segments of one rollout under `name`'s draws and these limits. */
async function watch(
  growth: Growth,
  name: string,
  limits: Partial<RolloutOptions>,
): Promise<number[]> {
  const watched: Growth = {
    ...growth,
    options: { ...growth.options, ...limits },
    key: [...growth.key, name],
    toolCalls: [],
  };
  const branch = root(0);
  while (await advanceBranch(watched, branch));
  return branch.segments.flatMap(({ entropy }) => (entropy === null ? [] : [entropy]));
}
