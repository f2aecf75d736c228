/** Tools as a rollout sees them, without processes: each is a function from input to output. */
import type { CallTool } from '../operators/index.ts';

/** Tools without processes, and the calls made so far, in order. */
export interface FakeTools extends CallTool {
  readonly calls: readonly { readonly tool: string; readonly input: string }[];
}

/** `answers` maps a tool's tag to a function from input to output. `delay` is awaited in every call. */
export interface FakeToolsOptions {
  readonly answers: Readonly<Record<string, (input: string) => string>>;
  readonly delay?: () => Promise<void>;
}

/** Tools that answer by these functions. Every call succeeds at once, takes 0 ms and is not cached. */
export function fakeTools({ answers, delay }: FakeToolsOptions): FakeTools {
  const names = Object.keys(answers);
  const calls: { tool: string; input: string }[] = [];
  return {
    calls,
    tags: names,
    async call(tool, input) {
      calls.push({ tool, input });
      await delay?.();
      return { output: answers[tool]!(input), ok: true, attempts: 1, cached: false, ms: 0 };
    },
    close: async () => undefined,
  };
}
