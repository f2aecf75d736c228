/**
 * The monitored rollout of a question, from which AEPO splits a group's budget (AEPO reference §2.1): how
 * unsure the policy is at the question itself, and along one whole rollout.
 *
 * Both samples have draws of their own and are thrown away; the tool calls are recorded under the name
 * `monitor` (of the question alone, `question`), because a replay has to answer them. One that fails gives
 * what it had; what is wrong with the question shows in the group's own rollouts.
 */
import type { ToolCall } from '../../topics/index.ts';
import { advanceBranch, type Growth } from './advanceBranch.ts';
import { root } from './branch.ts';
import type { RolloutOptions } from './options.ts';

export interface Monitored {
  /** Step entropy of the first tokens after the prompt; 0 if there are none. */
  readonly rootEntropy: number;
  /** Step entropies of all segments of the rollout, the first included. */
  readonly segmentEntropies: readonly number[];
  readonly toolCalls: readonly ToolCall[];
}

/** Rejects only when the signal aborts. `entropyTokens` = tokens that count for a step entropy. */
export async function monitor(growth: Growth, entropyTokens: number): Promise<Monitored> {
  const { responseMax } = growth.options;
  // A rollout of the counting tokens alone: more would not change their entropy, and no call is made.
  const brief = { responseMax: Math.min(responseMax, entropyTokens), callLimit: 0 };
  const [atRoot, whole] = await Promise.all([
    watch(growth, 'question', brief),
    watch(growth, 'monitor', {}),
  ]);
  const { entropies: segmentEntropies } = whole;
  const toolCalls = [...atRoot.toolCalls, ...whole.toolCalls];
  return { rootEntropy: atRoot.entropies[0] ?? 0, segmentEntropies, toolCalls };
}

/** Step entropies of the segments of one rollout under `name`'s draws and these limits, and its calls. */
async function watch(
  growth: Growth,
  name: string,
  limits: Partial<RolloutOptions>,
): Promise<{ readonly entropies: number[]; readonly toolCalls: readonly ToolCall[] }> {
  const watched: Growth = {
    ...growth,
    options: { ...growth.options, ...limits },
    key: [...growth.key, name],
    owner: `${growth.owner}/${name}`,
    toolCalls: [],
  };
  const branch = root(0);
  while (await advanceBranch(watched, branch));
  const entropies = branch.segments.flatMap(({ entropy }) => (entropy === null ? [] : [entropy]));
  return { entropies, toolCalls: watched.toolCalls };
}
