/**
 * The tools that settings name, opened: what can be wrong with them (a missing key, an address, a corpus)
 * fails here, before the first rollout.
 */
import type { Tool } from '../../operators/tools/index.ts';
import { mcpTools } from './mcpTools.ts';
import { sharedBy } from './shared.ts';
import type { SettingsOfTools, ToolContext } from './toolKind.ts';
import { type ToolSettings, toolKinds } from './toolSettings.ts';

/** The settings that tools are made of. */
export interface ToolsSettings extends SettingsOfTools {
  readonly tools: ToolSettings;
}

type Context = ToolContext & { readonly settings: ToolsSettings };

/**
 * The tools, in the order in which they are named; the job's context owns what they share. Fails with `USAGE`
 * or what cannot be opened.
 */
export async function toolsOf(context: Context): Promise<readonly Tool[]> {
  const { tools } = context.settings;
  const names = new Set(tools.use);
  if (tools.search.provider !== 'corpus') names.add('search');
  const shared = sharedBy(context);
  const own = tools as Readonly<Record<string, unknown>>;
  const made = await Promise.all(
    [...names].map((name) => toolKinds[name]!.open(context, shared, own[name])),
  );
  return [...made, ...(await mcpTools(tools.mcp, context))];
}
