/**
 * A tool that is called again, at once, while its output is empty, as in the papers' training (ARPO reference
 * §5.1). An output that stays empty is a failed call with the released text.
 */
import type { Tool } from './tool.ts';

/** `tries` = 1 leaves the tool unchanged. */
export function notEmpty(tool: Tool, tries: number): Tool {
  if (tries <= 1) return tool;
  return {
    ...tool,
    async run(input, signal, situation) {
      for (let left = tries; left > 0; left--) {
        const result = await tool.run(input, signal, situation);
        if (result.output.trim() !== '') return result;
      }
      return { output: `Tool(${tool.name}) returned empty output.`, ok: false };
    },
    close: () => tool.close(),
  };
}
