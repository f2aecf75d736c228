/**
 * A tool: what a policy may call between its tags. `<search>who</search>` calls the tool named `search`.
 *
 * A failed call is data (`ok: false` and a text that the policy reads), never a throw; a throw is a bug, and
 * `callTools` turns it into data as well. Only one throw is not the tool's answer: `toolDown`, for a tool
 * that cannot be reached. It is tried again, and then the rollout is a failed one.
 */
import type { ToolParameters } from '../../base/functions/index.ts';
import { hasCode, MillraceError } from '../../base/index.ts';
import type { EnvironmentStep } from '../../topics/index.ts';

/** The outcome of a call: the text that the policy reads, and whether the call succeeded. */
export interface ToolResult {
  readonly output: string;
  readonly ok: boolean;
  /** The result is from the cache; left out = it is not. */
  readonly cached?: boolean;
  /** Its reward, and whether it was the last step, if it acted in an environment. */
  readonly step?: EnvironmentStep;
}

/** An earlier call and its outcome. */
export interface PastCall {
  readonly tool: string;
  readonly input: string;
  readonly output: string;
}

/** What a tool may know about a call besides its input. */
export interface CallSituation {
  /**
   * The trajectory up to and including the call, in the papers' tags (`Dialect.read`); left out if unknown. A
   * result that depends on it is not a function of the input: such a tool is not `pure`.
   */
  readonly trajectory?: () => string;
  /** The calling rollout, `<question id>/<phase>-<round>/<index>`; left out if there is none. */
  readonly rolloutId?: string;
  /** The names of its question's files (`task.files`); left out = none. */
  readonly files?: readonly string[];
  /** The steps in its environment so far, including those before it branched off, the beginning first. */
  readonly past?: readonly PastCall[];
}

/** A tool that the policy can call by its tag; `close` ends what it holds open. */
export interface Tool {
  /** Its tag. */
  readonly name: string;
  /** One sentence for a reader (and a system prompt). */
  readonly about: string;
  /**
   * Its arguments, as the JSON schema of an object, for policies that call functions. Left out = one text:
   * `query` for search, `code` for python, `input` for any other. `run` gets that text if there is only one,
   * otherwise the arguments as JSON.
   */
  readonly parameters?: ToolParameters;
  /** Limit of concurrent calls. */
  readonly concurrencyMax: number;
  /** The same input gives the same output, so results may be cached. */
  readonly pure: boolean;
  /** False = rollouts call it, and their policies cannot. */
  readonly offered?: false;
  run(input: string, signal: AbortSignal, situation?: CallSituation): Promise<ToolResult>;
  /** A rollout has ended: drop whatever is held for it. */
  end?(rolloutId: string): void;
  close(): Promise<void>;
}

/** The error of a tool whose process or server does not answer, so the call must not be trained on. */
export function toolDown(tool: string, why: string, cause?: unknown): MillraceError<'TOOL_DOWN'> {
  return new MillraceError('TOOL_DOWN', `the tool ${tool} cannot answer: ${why}`, {
    context: { tool },
    cause,
  });
}

/**
 * The error of a tool that cannot work on this machine at all: no call of this process will ever be answered,
 * so its stage ends instead of failing its rollouts one by one.
 */
export function toolBroken(
  tool: string,
  why: string,
  cause?: unknown,
): MillraceError<'TOOL_BROKEN'> {
  return new MillraceError(
    'TOOL_BROKEN',
    `the tool ${tool} does not work here: ${why} Start the run again once it does, or leave the tool out (--set tools=…).`,
    { context: { tool }, cause },
  );
}

/** Whether a call went unanswered: what came instead is not its result. */
export function isUnanswered(error: unknown): boolean {
  return hasCode(error, 'TOOL_DOWN') || hasCode(error, 'TOOL_BROKEN');
}

/**
 * A tool that is a function of its input: an error thrown by `answer` is the call's failure. Eight calls may
 * run at once.
 */
export function pureTool(
  name: string,
  about: string,
  answer: (input: string) => string | Promise<string>,
): Tool {
  return {
    name,
    about,
    concurrencyMax: 8,
    pure: true,
    run: async (input) => ({ output: await answer(input), ok: true }),
    close: async () => undefined,
  };
}
