/**
 * A session as a rollout. Each path of its tree to a leaf is a context of its own; where two share a
 * beginning, the second has it as its prompt: the policy's own tokens are in the response once, and are
 * trained on once.
 */
import type { Question, Rollout, Segment, SessionEnd } from '../../topics/index.ts';
import { rolloutId } from '../../topics/index.ts';
import { answerIn } from './answer.ts';
import { type CallNode, contextOf } from './callTree.ts';
import { trajectoryOf } from './trajectory.ts';

/** How the agent's run ended. */
export interface AgentEnd {
  /** Why it does not count; empty = it counts. */
  readonly failure: string;
  readonly exitCode: number | null;
  /** What it printed, from the end. */
  readonly output: string;
  /** The answer it gave; left out = the policy's last message. */
  readonly answer?: string;
}

/** The other fields of a rollout. */
export interface SessionOf {
  readonly question: Question;
  readonly index: number;
  readonly groupSize: number;
  readonly seed: number;
  readonly calls: readonly CallNode[];
  readonly stop: 'calls' | 'context' | null;
  readonly reward: {
    readonly value: number;
    readonly reason: string;
    readonly parts?: Readonly<Record<string, number>>;
  } | null;
  readonly end: AgentEnd;
  /** The policy's version when it began. */
  readonly version: number;
  readonly markers: readonly string[];
  readonly startedMs: number;
  readonly endedMs: number;
}

export function rolloutOf(session: SessionOf): Rollout {
  const { question, index, end, calls, stop, reward, startedMs, endedMs } = session;
  const chain = chained(calls);
  const laid = laidOut(chain);
  const last = calls.findLast(({ reply }) => reply.message.calls.length === 0);
  const said = end.answer ?? last?.reply.message.content ?? '';
  const answer = answerIn(said, question.ability);
  const failed = end.failure !== '';
  const ended = stop === 'calls' ? 'callLimit' : stop === 'context' ? 'length' : null;
  return {
    id: rolloutId(question, index),
    question,
    index,
    ...{ groupSize: session.groupSize, seed: session.seed },
    prompt: chain[0] === undefined ? new Int32Array(0) : contextBefore(chain[0]),
    tokens: laid.tokens,
    logProbs: laid.logProbs,
    segments: laid.segments,
    text: trajectoryOf(chain, answer, session.markers),
    toolCalls: calls.reduce((sum, { reply }) => sum + reply.message.calls.length, 0),
    parent: null,
    version: laid.segments[0]?.version ?? session.version,
    status: failed ? 'failed' : 'done',
    finish: failed ? 'failed' : (ended ?? (answer === null ? 'stop' : 'answer')),
    reason: end.failure,
    ...{ startedMs, endedMs },
    episode: null,
    session: {
      contexts: laid.contexts,
      calls: laid.calls,
      reward: reward?.value ?? null,
      rewardReason: reward?.reason ?? '',
      rewardParts: { ...reward?.parts },
      exitCode: end.exitCode,
      output: end.output,
      ms: endedMs - startedMs,
      modelMs: calls.reduce((sum, call) => sum + call.endedMs - call.startedMs, 0),
    },
  };
}

/** The calls, each right after the one it goes on from if possible. */
export function chained(calls: readonly CallNode[]): readonly CallNode[] {
  const children = new Map<CallNode | null, CallNode[]>();
  for (const call of calls) {
    const known = children.get(call.parent);
    if (known === undefined) children.set(call.parent, [call]);
    else known.push(call);
  }
  const chain: CallNode[] = [];
  // A loop, since a long conversation makes a deep tree.
  const waiting = (children.get(null) ?? []).toReversed();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    chain.push(next);
    waiting.push(...(children.get(next) ?? []).toReversed());
  }
  return chain;
}

function contextBefore({ parent, prompt }: CallNode): Int32Array {
  return Int32Array.from([...contextOf(parent), ...prompt]);
}

interface Laid extends Pick<SessionEnd, 'contexts' | 'calls'> {
  readonly tokens: Int32Array;
  readonly logProbs: Float32Array;
  readonly segments: Segment[];
}

export function laidOut(chain: readonly CallNode[]): Laid {
  const tokens: number[] = [];
  const logProbs: number[] = [];
  const segments: Segment[] = [];
  const contexts: SessionEnd['contexts'][number][] = [];
  const calls: SessionEnd['calls'][number][] = [];
  const put = (ids: Int32Array, probs: Float32Array | null): number => {
    const start = tokens.length;
    for (let i = 0; i < ids.length; i++) {
      tokens.push(ids[i]!);
      logProbs.push(probs?.[i] ?? 0);
    }
    return start;
  };
  for (const [i, node] of chain.entries()) {
    const { number: call, spans, reply } = node;
    const version = spans[0]?.version ?? 0;
    if (i > 0 && node.parent === chain[i - 1]) {
      const start = put(node.prompt, null);
      const before = segments.at(-1)?.version ?? version;
      const tool = { kind: 'tool', version: before, entropy: null, tool: null } as const;
      if (tokens.length > start) segments.push({ ...tool, start, end: tokens.length });
    } else if (i > 0) contexts.push({ at: tokens.length, prompt: contextBefore(node) });
    const start = put(node.tokens, node.logProbs);
    const names = reply.message.calls.map(({ name }) => name).join(',');
    for (const span of spans) {
      const own = { kind: 'policy', version: span.version, entropy: node.entropy } as const;
      const tool = names === '' ? null : names;
      segments.push({ ...own, tool, start: start + span.start, end: start + span.end });
    }
    calls.push({ call, start, end: tokens.length });
  }
  return {
    ...{ tokens: Int32Array.from(tokens), logProbs: Float32Array.from(logProbs) },
    ...{ segments, contexts, calls },
  };
}
