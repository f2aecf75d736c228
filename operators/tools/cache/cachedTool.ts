/** A pure tool whose successful results are cached on disk for all runs, for example slow programs. */
import type { Tool } from '../tool.ts';
import { askOnce } from './askOnce.ts';
import type { ToolCache } from './toolCache.ts';

/**
 * `tool` with its results cached under `scope`, which names everything else that decides them: its version,
 * its packages, its limits. Fails for a tool that is not pure.
 */
export function cachedTool(tool: Tool, cache: ToolCache, scope: string): Tool {
  if (!tool.pure)
    throw new Error(`results of ${tool.name} cannot be cached: they depend on more than its input`);
  const once = askOnce(cache);
  return {
    ...tool,
    async run(input, signal, situation) {
      const place = { kind: 'tool', scope: `${tool.name}/${scope}`, key: input } as const;
      const run = async () => {
        const { output, ok } = await tool.run(input, signal, situation);
        return { value: JSON.stringify({ output, ok }), keep: ok };
      };
      const { value, cached } = await once(place, run, signal);
      return { ...(JSON.parse(value) as { output: string; ok: boolean }), cached };
    },
  };
}
