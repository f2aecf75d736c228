/**
 * `callTools`: the tools as a rollout sees them. Which token closes a call, and the call itself, as data.
 *
 * Every call that goes through here becomes a `tool-calls` record of the rollout that made it (rollout.ts), but
 * for those of a monitored rollout, which is thrown away (rollout/monitor.ts).
 */
import type { Tokenizer } from '../model/engine.ts';
import { type Called, type ToolboxOptions, toolbox } from './tools/callTool.ts';
import type { Tool } from './tools/tool.ts';

export interface CallTool {
  /** Tokens that end a segment with a call. */
  readonly stopTokens: readonly number[];
  /** The tool that this closing token calls; null for any other token. */
  tagOf(token: number): string | null;
  call(tool: string, input: string, signal: AbortSignal): Promise<Called>;
  close(): Promise<void>;
}

export interface CallToolsOptions extends ToolboxOptions {
  /** Must have one token for each tool's closing tag. */
  readonly tokenizer: Tokenizer;
}

/** The tools of a run, by their closing tags. */
export function callTools(tools: readonly Tool[], options: CallToolsOptions): CallTool {
  const box = toolbox(tools, options);
  const closing = new Map(tools.map(({ name }) => [options.tokenizer.id(`</${name}>`), name]));
  return {
    stopTokens: [...closing.keys()],
    tagOf: (token) => closing.get(token) ?? null,
    call: box.call,
    close: box.close,
  };
}
