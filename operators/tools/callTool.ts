/**
 * A toolbox: the tools of a job behind one `call` that never throws on their account.
 *
 * It holds what a call needs besides the tool itself: the bound on calls at once (the tool states it), the
 * attempts, a bounded cache of pure tools' good results, and the milliseconds. Only an aborted signal
 * rejects, with the signal's reason, and a tool that is down (`toolDown`) when it was tried often enough, or
 * broken; everything else comes back as data.
 *
 * Two equal calls that run at the same time both run; `cached` is true only for a result that was there.
 */

import { hasCode, LruCache, messageOf, Semaphore, withoutSecrets } from '../../base/index.ts';
import type { EnvironmentStep } from '../../topics/index.ts';
import type { CallSituation, Tool, ToolResult } from './tool.ts';

/** Time as an argument: `base/clock.ts` has the system's. */
interface Clock {
  now(): number;
}

/** One call and its outcome. */
export interface Called {
  readonly output: string;
  readonly ok: boolean;
  /** How often the tool ran; 0 for a cached result or a tool that does not exist. */
  readonly attempts: number;
  readonly cached: boolean;
  /** From the request to the result, including the wait for a free place. */
  readonly ms: number;
  /** For a call that acted in an environment. */
  readonly step?: EnvironmentStep | null;
}

/** Attempts, retries and cache of the tools. */
export interface ToolboxOptions {
  readonly clock: Clock;
  /** How often a tool may run for one call if it throws (default 1). */
  readonly attemptsMax?: number;
  /**
   * An empty output counts as a failure, as in the ARPO reference: it is tried again, and reported to the
   * policy if it stays empty. Off by default, because it runs the same program again.
   */
  readonly retryEmpty?: boolean;
  /** How many results of pure tools to cache (default 1000; 0 = none). */
  readonly cacheEntriesMax?: number;
  /** The cache key of an input (default: the input itself). */
  readonly cacheKey?: (tool: string, input: string) => string;
}

/** Some tools behind one call, with attempts, a bound on concurrency and a cache. */
export interface Toolbox {
  readonly tools: readonly Tool[];
  /** Runs the tool named `tag`. Rejects when `signal` is aborted, and with code `TOOL_DOWN`. */
  call(tag: string, input: string, signal: AbortSignal, situation?: CallSituation): Promise<Called>;
  /** A rollout has ended. */
  end(rolloutId: string): void;
  close(): Promise<void>;
}

type Outcome = Pick<Called, 'output' | 'ok' | 'attempts' | 'cached' | 'step'>;

/** How often a tool may report that it is down before the call fails. */
const DOWN_MAX = 3;

/** Runs a tool up to `attemptsMax` times; retries after a throw and, if asked, after an empty output. */
async function attempt(
  tool: Tool,
  input: string,
  signal: AbortSignal,
  options: {
    readonly attemptsMax: number;
    readonly retryEmpty: boolean;
    readonly situation: CallSituation;
  },
): Promise<Outcome> {
  let failure = '';
  let down = 0;
  for (let attempts = 1; ; attempts++) {
    try {
      const result = await tool.run(input, signal, options.situation);
      const { output: said, ok, cached = false, step } = result;
      const output = withoutSecrets(said);
      // An action in an environment has taken effect, whatever it shows.
      if (step !== undefined) return { output, ok, attempts, cached, step };
      if (output !== '' || !options.retryEmpty) return { output, ok, attempts, cached };
      failure = `Tool(${tool.name}) returned empty output.`;
    } catch (error) {
      signal.throwIfAborted();
      if (hasCode(error, 'TOOL_BROKEN')) throw error;
      if (hasCode(error, 'TOOL_DOWN')) {
        down += 1;
        if (down >= DOWN_MAX) throw error;
        attempts -= 1; // it did not run
        continue;
      }
      failure = `Tool(${tool.name}) failed: ${messageOf(error)}`;
    }
    if (attempts >= options.attemptsMax) {
      return { output: failure, ok: false, attempts, cached: false };
    }
  }
}

/** Tags that mean something else in a trajectory, and `tool`, whose calls would look like all calls. */
const TAKEN = ['think', 'result', 'answer', 'tool'];

/** The tools by their tags. Throws on two tools with one tag, and on a name that cannot be a tag. */
function byTag(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const odd = tools.find(({ name }) => TAKEN.includes(name) || !/^[\w-]+$/.test(name));
  if (odd !== undefined) {
    throw new Error(
      `a tool cannot be named ${JSON.stringify(odd.name)}: use letters, digits, _ and -, and none of ${TAKEN.join(', ')}`,
    );
  }
  const map = new Map(tools.map((tool) => [tool.name, tool]));
  if (map.size < tools.length) {
    const names = tools.map((tool) => tool.name).join(', ');
    throw new Error(`two tools have the same name (${names}): a tag can call only one; rename one`);
  }
  return map;
}

/**
 * Puts tools into a box.
 *
 * @example
 * const box = toolbox([pythonTool(), searchTool({ documents })], { clock: systemClock });
 * const { output } = await box.call('python', 'print(6 * 7)', signal); // '42'
 */
export function toolbox(tools: readonly Tool[], options: ToolboxOptions): Toolbox {
  const { clock, attemptsMax = 1, retryEmpty = false, cacheEntriesMax = 1000 } = options;
  const { cacheKey = (_tool: string, input: string) => input } = options;
  if (!(attemptsMax >= 1)) throw new RangeError(`attemptsMax is ${attemptsMax}; give 1 or more`);
  const named = byTag(tools);
  const places = new Map(tools.map((tool) => [tool.name, new Semaphore(tool.concurrencyMax)]));
  const cache = new LruCache<ToolResult>(cacheEntriesMax);

  async function outcome(
    tag: string,
    input: string,
    signal: AbortSignal,
    situation: CallSituation,
  ): Promise<Outcome> {
    const tool = named.get(tag);
    if (!tool) {
      const output = `There is no tool named ${tag}; use one of: ${[...named.keys()].join(', ')}.`;
      return { output, ok: false, attempts: 0, cached: false };
    }
    const key = `${tag}\0${cacheKey(tag, input)}`;
    const known = tool.pure ? cache.get(key) : undefined;
    if (known) return { ...known, attempts: 0, cached: true };
    const made = await places
      .get(tag)!
      .run(() => attempt(tool, input, signal, { attemptsMax, retryEmpty, situation }), signal);
    if (tool.pure && made.ok) cache.set(key, { output: made.output, ok: true });
    return made;
  }

  return {
    tools,
    async call(tag, input, signal, situation = {}) {
      const from = clock.now();
      const made = await outcome(tag, input, signal, situation);
      return { ...made, ms: clock.now() - from };
    },
    end(rolloutId) {
      for (const tool of tools) tool.end?.(rolloutId);
    },
    async close() {
      await Promise.all(tools.map((tool) => tool.close()));
    },
  };
}
