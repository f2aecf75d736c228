/**
 * Tool calls through topics: a call is a record of `tool-requests`, some process that runs the stage `tools`
 * answers it with a record of `tool-replies`, and the rollout that waits for it goes on.
 *
 *     rollout ──call──► tool-requests ──► tools (as many processes as are wanted) ──► tool-replies ──► rollout
 *
 * Guarantees:
 * - a request is answered exactly once, even if the process that had it dies: another one gets it then;
 * - what a rollout gets is what the same toolbox gives in its own process, failures and a tool that is down
 *   included;
 * - these topics only transport calls. What is recorded of a call is its `tool-calls` record, as ever, and
 *   replays read that alone; a rollout that is repeated after a crash asks again.
 */
import type { OperatorFunction, Subscription } from 'rxjs';
import { eitherSignal, hasCode, MillraceError, type SleepClock } from '../../base/index.ts';
import {
  defineTopic,
  flag,
  list,
  real,
  record,
  text,
  type ValueOf,
  whole,
  withDefault,
} from '../../streams/contracts/index.ts';
import type { Delivery } from '../../streams/deliveries/index.ts';
import { type Log, mapEach } from '../../streams/index.ts';
import type { CallOrigin, CallTool } from '../callTools.ts';
import type { Called } from './callTool.ts';

const toolRequest = record('ToolRequest', {
  rolloutId: text,
  turn: whole,
  tool: text,
  input: text,
  /** The names of its question's files. */
  files: withDefault(list(text), []),
});
/** A call for a worker to make. */
export interface ToolRequest extends ValueOf<typeof toolRequest> {}

const toolReply = record('ToolReply', {
  rolloutId: text,
  turn: whole,
  tool: text,
  /** As it was asked: a call with the same number may have been a different one before a crash. */
  input: text,
  output: text,
  ok: flag,
  attempts: whole,
  cached: flag,
  ms: real,
  /** Why the tool could not be called at all (it is down); empty if it was called. */
  failure: text,
});
/** How a call went. */
export interface ToolReply extends ValueOf<typeof toolReply> {}

/**
 * The topics that transport calls; they have as many partitions as the log gives, so that calls spread over
 * workers.
 */
export const toolTopics = {
  requests: defineTopic<ToolRequest>({
    name: 'tool-requests',
    about: 'Tool calls waiting for a worker. Rollout writes it; the stage tools reads it.',
    shape: toolRequest,
    key: (value) => value.rolloutId,
  }),
  replies: defineTopic<ToolReply>({
    name: 'tool-replies',
    about: 'Answers to tool calls. The stage tools writes it; the waiting rollout reads it.',
    shape: toolReply,
    key: (value) => value.rolloutId,
  }),
};

/** Answers requests with these tools; each tool's own concurrency limit holds within `concurrency`. */
export function answerCalls(
  tools: Pick<CallTool, 'call'>,
  options: { readonly concurrency: number },
): OperatorFunction<Delivery<ToolRequest>, Delivery<ToolReply>> {
  return mapEach(
    async ({ rolloutId, turn, tool, input, files }, { signal }) => {
      const asked = { rolloutId, turn, tool, input };
      try {
        const called = await tools.call(tool, input, signal, { rolloutId, turn, files });
        return { ...asked, ...called, failure: '' };
      } catch (error) {
        if (!hasCode(error, 'TOOL_DOWN')) throw error;
        return { ...asked, ...NOT_CALLED, failure: error.message };
      }
    },
    { ...options, onError: 'fail' },
  );
}

const NOT_CALLED: Called = { output: '', ok: false, attempts: 0, cached: false, ms: 0 };

export interface ThroughTopicsOptions {
  readonly log: Log;
  readonly clock: SleepClock;
  /** Called once for a call that has waited long for a worker. */
  readonly report: (note: string) => void;
}

/** Report a call that has had no answer for this long. */
const LONG_MS = 30_000;
/** Limit of replies that may arrive before the topic is first read: more than all calls under way. */
const REPLIES_MISSED_MAX = 10_000;

type Settle = (error: Error | null, reply?: ToolReply) => void;

/**
 * The tools of a job, called through topics. A call without an origin (made by no rollout) runs here. Closing
 * it ends waits and leaves `local` open.
 */
export function throughTopics(local: CallTool, options: ThroughTopicsOptions): CallTool {
  const { log, clock, report } = options;
  const waiting = new Map<string, Set<Settle>>();
  const closing = new AbortController();
  let following: Subscription | null = null;
  let notified = false;

  function follow(): void {
    const from = { kind: 'last', count: REPLIES_MISSED_MAX } as const;
    following ??= log.tap(toolTopics.replies, { from, follow: true }).subscribe({
      next: ({ value }) => {
        for (const settle of waiting.get(keyOf(value)) ?? []) settle(null, value);
      },
      error: (error: Error) => {
        following = null;
        for (const settle of [...waiting.values()].flatMap((all) => [...all])) settle(error);
      },
    });
  }

  function reply(request: ToolRequest, signal: AbortSignal): Promise<ToolReply> {
    const key = keyOf(request);
    return new Promise<ToolReply>((resolve, reject) => {
      const settle: Settle = (error, answered) => {
        const others = waiting.get(key);
        others?.delete(settle);
        if (others?.size === 0) waiting.delete(key);
        signal.removeEventListener('abort', aborted);
        if (answered === undefined) reject(error);
        else resolve(answered);
      };
      const aborted = (): void => settle(signal.reason as Error);
      signal.addEventListener('abort', aborted, { once: true });
      const all = waiting.get(key) ?? new Set();
      waiting.set(key, all.add(settle));
    });
  }

  async function noteLongWait(answered: AbortSignal): Promise<void> {
    await clock.sleep(LONG_MS, answered).catch(() => undefined);
    if (answered.aborted || notified) return;
    notified = true;
    report(
      `a tool call has been waiting ${LONG_MS / 1000} s for a worker: start one with the same command and --only tools`,
    );
  }

  return {
    tags: local.tags,
    async call(tool, input, signal, origin?: CallOrigin) {
      if (origin === undefined) return local.call(tool, input, signal);
      for (const each of [signal, closing.signal]) each.throwIfAborted();
      const from = clock.now();
      const { rolloutId, turn, files = [] } = origin;
      const request: ToolRequest = { rolloutId, turn, tool, input, files };
      const answered = new AbortController();
      follow();
      // even when the request cannot be written: then no one waits
      const over = eitherSignal([answered.signal, signal, closing.signal]);
      const replied = reply(request, over.signal);
      replied.catch(() => undefined);
      void noteLongWait(over.signal);
      try {
        await log.commit((tx) => tx.append(toolTopics.requests, request));
        const { output, ok, attempts, cached, failure } = await replied;
        if (failure !== '') throw new MillraceError('TOOL_DOWN', failure);
        return { output, ok, attempts, cached, ms: clock.now() - from };
      } finally {
        answered.abort();
        over.release();
      }
    },
    async close() {
      closing.abort(new MillraceError('CLOSED', 'the tools are closed'));
      following?.unsubscribe();
    },
  };
}

function keyOf({ rolloutId, turn, tool, input }: Omit<ToolRequest, 'files'>): string {
  return JSON.stringify([rolloutId, turn, tool, input]);
}
