/**
 * Opens the tools that settings name: anything wrong with them (a missing key, an address, a corpus) fails
 * here, before the first rollout.
 */
import type { Tool } from '../../operators/tools/index.ts';
import { mcpTools } from './mcpTools.ts';
import { sharedBy } from './shared.ts';
import type { SettingsOfTools, ToolContext } from './toolKind.ts';
import { type ToolSettings, toolKinds } from './toolSettings.ts';

/** The settings for the tools. */
export interface ToolsSettings extends SettingsOfTools {
  readonly tools: ToolSettings;
}

type Context = ToolContext & { readonly settings: ToolsSettings };

/**
 * The tools, in the order named; the job's context owns what they share. Fails with `USAGE` or the code of
 * what cannot be opened.
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
