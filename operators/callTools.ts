/**
 * `callTools`: the tools as a rollout sees them. Which token closes a call, and the call itself, as data.
 *
 * Every call that goes through here becomes a `tool-calls` record of the rollout that made it, so that a replay can
 * answer it from the record. What a call is known by is its `CallOrigin`.
 */
import type { Tokenizer } from '../model/engine.ts';
import { type Called, type ToolboxOptions, toolbox } from './tools/callTool.ts';
import type { Tool } from './tools/tool.ts';

/** Which call it is: number `turn`, from 0, of a rollout. One in a run; the key of its record. */
export interface CallOrigin {
  readonly rolloutId: string;
  readonly turn: number;
}

/** The tools of a job. */
export interface CallTool {
  /** Their tags: whatever reads a trajectory looks for these. */
  readonly tags: readonly string[];
  /** Tokens that end a segment with a call. */
  readonly stopTokens: readonly number[];
  /** The tool that this closing token calls; null for any other token. */
  tagOf(token: number): string | null;
  call(tool: string, input: string, signal: AbortSignal, origin?: CallOrigin): Promise<Called>;
  close(): Promise<void>;
}

/** Attempts, retries and cache of the tools, and the tokenizer that knows their closing tags. */
export interface CallToolsOptions extends ToolboxOptions {
  /** Must have one token for each tool's closing tag. */
  readonly tokenizer: Tokenizer;
}

/** The tools of a run, by their closing tags. */
export function callTools(tools: readonly Tool[], options: CallToolsOptions): CallTool {
  const box = toolbox(tools, options);
  const closing = new Map(tools.map(({ name }) => [options.tokenizer.id(`</${name}>`), name]));
  return {
    tags: [...closing.values()],
    stopTokens: [...closing.keys()],
    tagOf: (token) => closing.get(token) ?? null,
    call: (tool, input, signal) => box.call(tool, input, signal),
    close: box.close,
  };
}
