/**
 * `callTools`: the tools as a rollout sees them. Which token closes a call, and the call itself, as data.
 *
 * Every call that goes through here becomes a `tool-calls` record of the rollout that made it (rollout.ts).
 */
import type { Tokenizer } from '../model/engine.ts';
import type { Clock } from '../streams/clock.ts';
import type { Called } from './tools/callTool.ts';
import { toolbox } from './tools/callTool.ts';
import type { Tool } from './tools/tool.ts';

export interface CallTool {
  /** Tokens that end a segment with a call. */
  readonly stopTokens: readonly number[];
  /** The tool that this closing token calls; null for any other token. */
  tagOf(token: number): string | null;
  call(tool: string, input: string, signal: AbortSignal): Promise<Called>;
}
