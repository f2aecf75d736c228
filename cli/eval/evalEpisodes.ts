/** How an evaluation asks a policy that works in DeepAgent's episodes. */
import { type EvaluateParts, episodesOf, type JobContext } from '../../jobs/index.ts';
import { deepParts, rolesOf } from '../../jobs/parts/index.ts';
import type { PolicyEngine } from '../../model/index.ts';
import type { DeepDialect } from '../../operators/deepAgent/index.ts';
import type { Tool } from '../../operators/tools/index.ts';
import type { EvalSettings } from './evalSettings.ts';

/** The dialect, the tools, and how to grow a group. */
export interface EpisodesAsked {
  readonly dialect: DeepDialect;
  readonly tools: readonly Tool[];
  readonly grow: EvaluateParts['grow'];
  /** The policy answers for models without a server. */
  bind(engine: PolicyEngine): Promise<void>;
}

/** With these tools called for real. Fails like `deepParts`. */
export async function episodesAsked(
  context: JobContext<EvalSettings>,
  real: readonly Tool[],
): Promise<EpisodesAsked> {
  const { questions, tokenizer, episode } = context.settings;
  const files = questions.map(({ path, name }) => (name === undefined ? { path } : { path, name }));
  const { library, listed, formOf, tools, dialectIn, bind } = await deepParts(context, files, real);
  const dialect = await dialectIn(tokenizer);
  return {
    dialect,
    tools,
    grow: episodesOf(episode, { dialect, library, listed, formOf }),
    bind: async (engine) => bind(rolesOf({ folder: tokenizer }, context), { engine }),
  };
}
