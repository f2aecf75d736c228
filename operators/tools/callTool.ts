/**
 * One tool call, as data: bounded, cached, retried if asked, never a throw.
 *
 * - At most `concurrencyMax` calls of a tool run at once; the others wait in order (as many as there are rollouts).
 * - The result of a pure tool is kept, keyed by the exact input; the least recently used goes first.
 * - A tool that throws gives a failed call with its message. Only an aborted signal rejects.
 * - `retries` repeats a call whose output is empty, as the published agents do; off by default, because it runs
 *   code again.
 */
import { messageOf } from '../../streams/errors.ts';
import type { Tool, ToolResult } from './tool.ts';

/** How a call went. `ms` is the time from asking to answer, waiting included. */
export interface Called {
  readonly output: string;
  readonly ok: boolean;
  readonly attempts: number;
  readonly cached: boolean;
  readonly ms: number;
}

export interface ToolboxOptions {
  readonly clock: { now(): number };
  /** Results kept per pure tool. */
  readonly cacheMax?: number;
  /** Further attempts while the output is empty. */
  readonly retries?: number;
}

export interface Toolbox {
  readonly names: readonly string[];
  call(tool: string, input: string, signal: AbortSignal): Promise<Called>;
  close(): Promise<void>;
}

/** Runs at most `max` at once, the others in order of arrival. */
function limiter(max: number): <T>(run: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (run) => {
    if (running >= max) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}

/** A tool with its limit and its kept results. */
class Bench {
  readonly #tool: Tool;
  readonly #options: ToolboxOptions;
  readonly #limited: ReturnType<typeof limiter>;
  readonly #kept = new Map<string, ToolResult>();

  constructor(tool: Tool, options: ToolboxOptions) {
    this.#tool = tool;
    this.#options = options;
    this.#limited = limiter(tool.concurrencyMax);
  }

  async call(input: string, signal: AbortSignal): Promise<Called> {
    const { clock } = this.#options;
    const startedMs = clock.now();
    const kept = this.#recall(input);
    if (kept !== undefined) {
      return { ...kept, attempts: 0, cached: true, ms: clock.now() - startedMs };
    }
    const { attempts, ...result } = await this.#limited(() => this.#attempt(input, signal));
    if (this.#tool.pure && result.ok) this.#keep(input, result);
    return { ...result, attempts, cached: false, ms: clock.now() - startedMs };
  }

  async #attempt(input: string, signal: AbortSignal): Promise<ToolResult & { attempts: number }> {
    const attemptsMax = 1 + (this.#options.retries ?? 0);
    let attempts = 0;
    let result: ToolResult;
    do {
      signal.throwIfAborted();
      attempts++;
      result = await this.#once(input, signal);
    } while (result.output === '' && attempts < attemptsMax);
    return { output: result.output, ok: result.ok, attempts };
  }

  async #once(input: string, signal: AbortSignal): Promise<ToolResult> {
    try {
      return await this.#tool.run(input, signal);
    } catch (error) {
      signal.throwIfAborted();
      return { output: `Error: ${messageOf(error)}`, ok: false };
    }
  }

  #recall(input: string): ToolResult | undefined {
    const result = this.#kept.get(input);
    if (result !== undefined) {
      this.#kept.delete(input);
      this.#kept.set(input, result);
    }
    return result;
  }

  #keep(input: string, result: ToolResult): void {
    this.#kept.set(input, result);
    if (this.#kept.size <= (this.#options.cacheMax ?? 10_000)) return;
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined) this.#kept.delete(oldest);
  }
}

/** The tools of a run. Throws when two have one name. */
export function toolbox(tools: readonly Tool[], options: ToolboxOptions): Toolbox {
  const benches = new Map(tools.map((tool) => [tool.name, new Bench(tool, options)]));
  if (benches.size < tools.length) throw new Error('two tools have one name');
  return {
    names: [...benches.keys()],
    async call(tool, input, signal) {
      const bench = benches.get(tool);
      if (bench !== undefined) return bench.call(input, signal);
      const known = [...benches.keys()].join(', ');
      const output = `Error: there is no tool ${tool}; there are ${known}`;
      return { output, ok: false, attempts: 0, cached: false, ms: 0 };
    },
    async close() {
      await Promise.all(tools.map((tool) => tool.close()));
    },
  };
}
