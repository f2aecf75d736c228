/**
 * `callTools`: the tools as a rollout sees them: a call by the tool's name, as data.
 *
 * Every call becomes a `tool-calls` record of the rollout that made it, so that a replay can answer it from
 * the record. A call is identified by its `CallOrigin`. How the policy writes a call is up to the dialect.
 */
import { type Called, type ToolboxOptions, toolbox } from './tools/callTool.ts';
import type { CallSituation, Tool } from './tools/tool.ts';

/**
 * Which call it is: number `turn`, from 0, of a rollout. Unique in a run, and the key of its record. Also
 * what the tool may know about it.
 */
export interface CallOrigin extends CallSituation {
  readonly rolloutId: string;
  readonly turn: number;
}

/** The tools of a job. */
export interface CallTool {
  /** Their tags, which readers of trajectories look for. */
  readonly tags: readonly string[];
  call(tool: string, input: string, signal: AbortSignal, origin?: CallOrigin): Promise<Called>;
  /** A rollout has ended: tools drop whatever they hold for it. */
  end?(rolloutId: string): void;
  close(): Promise<void>;
}

/** Attempts, retries and cache, and tools that rollouts call but the policy cannot. */
export interface CallToolsOptions extends ToolboxOptions {
  readonly helpers?: readonly Tool[];
}

/** The tools of a run, with the attempts, retries and cache of `toolbox`. */
export function callTools(tools: readonly Tool[], options: CallToolsOptions): CallTool {
  const box = toolbox([...tools, ...(options.helpers ?? [])], options);
  return {
    tags: tools.flatMap(({ name, offered }) => (offered === false ? [] : [name])),
    call: (tool, input, signal, origin) => box.call(tool, input, signal, origin),
    end: box.end,
    close: box.close,
  };
}
