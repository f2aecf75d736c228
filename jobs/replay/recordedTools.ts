/**
 * Tools that answer from the record: the recorded output of a call, without running the tool.
 *
 * `recorded` = from the record or not at all; `recorded-else-live` = what was never called runs; `live` =
 * everything runs. A call is looked up by its rollout and turn, and, where rollouts may differ from those
 * recorded, by the tool and its input. Places of calls are held in memory, outputs are not.
 */

import { MillraceError } from '../../base/index.ts';
import type { CallOrigin, CallTool } from '../../operators/index.ts';
import type { Called } from '../../operators/tools/index.ts';
import type { Log } from '../../streams/index.ts';
import { type ToolCall, topics } from '../../topics/index.ts';

export const toolModes = ['live', 'recorded', 'recorded-else-live'] as const;
export type ToolMode = (typeof toolModes)[number];

/** The position of each recorded call. */
export class RecordedCalls {
  readonly #byOrigin = new Map<string, number>();
  /** The first call of each tool and input. */
  readonly #byInput = new Map<string, number>();

  add(call: ToolCall, offset: number): void {
    this.#byOrigin.set(topics.toolCalls.identity(call), offset);
    const input = inputKey(call.tool, call.input);
    if (!this.#byInput.has(input)) this.#byInput.set(input, offset);
  }

  ofOrigin(origin: CallOrigin): number | undefined {
    return this.#byOrigin.get(`${origin.rolloutId}#${origin.turn}`);
  }

  ofInput(tool: string, input: string): number | undefined {
    return this.#byInput.get(inputKey(tool, input));
  }
}

function inputKey(tool: string, input: string): string {
  return `${tool}\0${input}`;
}

/** A call made now, next to its record. */
export interface Strayed {
  readonly origin: CallOrigin | null;
  readonly tool: string;
  readonly input: string;
  /** Null if there is none. */
  readonly recorded: ToolCall | null;
  readonly offset: number | null;
}

export interface RecordedToolsOptions {
  readonly log: Log;
  readonly calls: RecordedCalls;
  readonly mode: ToolMode;
  /**
   * If given, a call must be the very one recorded for its rollout and turn: any other is reported here and
   * fails. If left out, the same tool and input will do.
   */
  readonly onStray?: (strayed: Strayed) => void;
  /**
   * Why a rollout failed in the record: the call of it that is not recorded is the one that the tool could
   * not answer.
   */
  readonly failureOf?: (rolloutId: string) => string | null;
}

export function recordedTools(live: CallTool, options: RecordedToolsOptions): CallTool {
  if (options.mode === 'live') return live;
  const { log, calls, mode, onStray, failureOf = () => null } = options;

  async function at(offset: number | undefined): Promise<ToolCall | null> {
    if (offset === undefined) return null;
    const [stored] = await log.fetch(topics.toolCalls, [{ partition: 0, offset }]);
    return stored!.value;
  }

  async function find(tool: string, input: string, origin?: CallOrigin): Promise<ToolCall | null> {
    const offset = origin && calls.ofOrigin(origin);
    const same = await at(offset);
    if (same !== null && same.tool === tool && same.input === input) return same;
    if (onStray === undefined) return at(calls.ofInput(tool, input));
    const failure = same === null && origin !== undefined ? failureOf(origin.rolloutId) : null;
    if (failure !== null) throw new MillraceError('RECORDED_FAILURE', failure);
    onStray({ origin: origin ?? null, tool, input, recorded: same, offset: offset ?? null });
    return null;
  }

  return {
    tags: live.tags,
    async call(tool, input, signal, origin) {
      const found = await find(tool, input, origin);
      signal.throwIfAborted();
      if (found !== null) return called(found);
      if (mode === 'recorded-else-live') return live.call(tool, input, signal, origin);
      if (onStray === undefined) return missing(tool);
      throw new MillraceError('NOT_RECORDED', `this call of ${tool} is not in the record`);
    },
    end: (rolloutId) => live.end?.(rolloutId),
    close: () => live.close(),
  };
}

function called({ output, ok, attempts, cached, ms, step = null }: ToolCall): Called {
  return { output, ok, attempts, cached, ms, step };
}

/** A failed call, as the policy reads it. */
function missing(tool: string): Called {
  const output = `Tool(${tool}) failed: the call is not in the record and tools are not run.`;
  return { output, ok: false, attempts: 0, cached: false, ms: 0 };
}
