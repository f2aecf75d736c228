/**
 * Tool-Star's helpers (operators/rollout/helping.ts) as tools of a job: a rollout calls them, the policy
 * cannot. Their calls are records like others, so a replay answers from those.
 *
 * Their input is text from outside, and cannot end the message that it is in. The debugger's output runs
 * where programs of the policy run; the refiner's output is fenced before it becomes a thought.
 */
import type { DrawKey } from '../../base/index.ts';
import { chatFence } from '../dialect/fence.ts';
import { DEBUGGER, type DebugRequest, REFINER, type RefineRequest } from '../rollout/helping.ts';
import { strip } from '../text/characters.ts';
import type { Tool, ToolResult } from './tool.ts';

/** Asks a helper's model; null if it gave up. */
export type AskHelper = (
  request: {
    readonly name: string;
    readonly prompt: string;
    readonly draws: readonly DrawKey[];
  },
  signal: AbortSignal,
) => Promise<string | null>;

/** The helpers' models; left out = no help. */
export interface HelperToolsOptions {
  readonly seed: number;
  readonly debugger?: AskHelper;
  readonly refiner?: AskHelper;
}

/** Concurrent requests of one helper; its server may have a lower limit. */
const AT_ONCE = 64;
/** Longest reply that is read, in UTF-16 units. */
const REPLY_MAX = 200_000;

/** The helpers that are set. */
export function helperTools({ seed, ...ask }: HelperToolsOptions): readonly Tool[] {
  const helper = <Request extends { readonly id: string }>(
    name: string,
    about: string,
    asked: AskHelper | undefined,
    { prompt, read }: { prompt(request: Request): string; read(reply: string): string },
  ): readonly Tool[] => {
    if (asked === undefined) return [];
    const run = async (input: string, signal: AbortSignal): Promise<ToolResult> => {
      const request = JSON.parse(input) as Request;
      const draws = [seed, request.id, name];
      const reply = await asked({ name, prompt: prompt(request), draws }, signal);
      const output = reply === null || reply.length > REPLY_MAX ? '' : read(spoken(reply));
      return { output, ok: output !== '' };
    };
    const close = async () => undefined;
    return [{ name, about, concurrencyMax: AT_ONCE, pure: false, run, close }];
  };
  return [
    ...helper<DebugRequest>(DEBUGGER, 'Mends a program that failed.', ask.debugger, {
      prompt: debugPrompt,
      read: programIn,
    }),
    ...helper<RefineRequest>(REFINER, 'Makes a long chain of thought short.', ask.refiner, {
      prompt: refinePrompt,
      read: strip,
    }),
  ];
}

/** A reply without its thinking. */
function spoken(reply: string): string {
  const thought = reply.lastIndexOf('</think>');
  return thought < 0 ? reply : reply.slice(thought + '</think>'.length);
}

const FENCE = '```';
const OPEN = `${FENCE}python`;

/** The program in a reply: within its first fence, or all of it. */
export function programIn(reply: string): string {
  const open = reply.indexOf(OPEN);
  if (open < 0) return strip(reply);
  const from = open + OPEN.length;
  const close = reply.indexOf(FENCE, from);
  return strip(reply.slice(from, close < 0 ? undefined : close));
}

function debugPrompt({ code, error }: DebugRequest): string {
  return `A Python program failed. Mend it: keep what it is for, and change only what is wrong.

The program:
${OPEN}
${chatFence(code)}
${FENCE}

Its error:
${chatFence(error)}

Reply with the whole mended program between ${OPEN} and ${FENCE}, and nothing else.`;
}

function refinePrompt({ question, chain }: RefineRequest): string {
  return `Below is how an assistant has worked on a question so far. What tools returned stands in <result>. Make it short, so that the assistant can go on from it: keep every fact, number and intermediate result that the answer may need, and what was tried without success; leave out repetitions, detours and the texts of calls. Add nothing, do not solve the question, and do not give a final answer that is not there.

Question:
${chatFence(question)}

The work so far:
${chatFence(chain)}

Reply with the shortened work as plain sentences, without any tags, and nothing else.`;
}
