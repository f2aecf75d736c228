/**
 * What scripted rollouts are made of: one token a character (its code point), an end token of 1, tools that
 * answer from a table.
 */

export const END_TOKEN = 1;
const PADDING = 0;

export function encode(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0)!);
}

/** Text of tokens; padding and the end token say nothing. */
export function decode(tokens: readonly number[]): string {
  return tokens
    .filter((token) => token !== PADDING && token !== END_TOKEN)
    .map((token) => String.fromCodePoint(token))
    .join('');
}

/** One generation. `logprobs[t]` = returned values of token t; the last entry repeats. */
export interface Generated {
  readonly tokens: readonly number[];
  readonly logprobs: readonly (readonly number[])[];
  readonly finish: 'stop' | 'length';
  /** The stop text that ended it, or null. */
  readonly stop: string | null;
}

/** The returned log-probs of the first tokens, one entry a token. */
export function firstLogProbs({ tokens, logprobs }: Generated, most: number): number[][] {
  if (logprobs.length === 0) return [];
  return tokens.slice(0, most).map((_, t) => [...logprobs[Math.min(t, logprobs.length - 1)]!]);
}

/** One attempt of a tool: its text, or null when it failed or had nothing to say. */
export type Attempt = (tag: string, input: string, attempt: number) => string | null;

export interface CallOutcome {
  readonly ok: boolean;
  readonly text: string;
  readonly retries: number;
}

/** Tries a call until it gives text, at most `attemptsMax` times. */
export function callWithRetry(
  attempt: Attempt,
  tag: string,
  input: string,
  attemptsMax: number,
): CallOutcome {
  for (let retries = 0; retries < attemptsMax; retries++) {
    const text = attempt(tag, input, retries);
    if (text !== null && text !== '') return { ok: true, text, retries };
  }
  return { ok: false, text: `Tool(${tag}) returned empty output.`, retries: attemptsMax };
}

export interface ToolMetrics {
  totalCalls: number;
  successfulCalls: number;
  failedCalls: number;
  callLimitReached: number;
  totalRetries: number;
  maxRetries: number;
  readonly perTool: Map<string, { calls: number; successes: number }>;
}

export function noCalls(): ToolMetrics {
  return {
    totalCalls: 0,
    successfulCalls: 0,
    failedCalls: 0,
    callLimitReached: 0,
    totalRetries: 0,
    maxRetries: 0,
    perTool: new Map(),
  };
}

export function recordCall(metrics: ToolMetrics, tag: string, outcome: CallOutcome): void {
  metrics.totalCalls++;
  if (outcome.ok) metrics.successfulCalls++;
  else metrics.failedCalls++;
  metrics.totalRetries += outcome.retries;
  metrics.maxRetries = Math.max(metrics.maxRetries, outcome.retries);
  const own = metrics.perTool.get(tag) ?? { calls: 0, successes: 0 };
  metrics.perTool.set(tag, {
    calls: own.calls + 1,
    successes: own.successes + (outcome.ok ? 1 : 0),
  });
}

/**
 * The call that a context ends in: the text before its last close tag, back to the nearest open tag,
 * stripped. It looks through the whole context, as the published rollout does; '' if there is no open tag.
 */
export function lastCall(context: string, tag: string): string {
  const close = context.lastIndexOf(`</${tag}>`);
  const before = context.slice(0, close);
  const open = before.lastIndexOf(`<${tag}>`);
  return open < 0 ? '' : before.slice(open + tag.length + 2);
}
