/**
 * Groups whose sessions are recorded: the policy writes every answer again, in the recorded contexts, and
 * agents are not run. What the policy does not decide is taken from the record.
 */
import { MillraceError } from '../base/index.ts';
import { type Sampling, samplingIn } from '../model/index.ts';
import type { Grow, RolloutOptions } from '../operators/rollout/index.ts';
import { type ModelCallRecord, type Question, type Rollout, rolloutId } from '../topics/index.ts';
import { drawsOf } from './growSessions.ts';
import { type CallNode, contextOf } from './sessions/callTree.ts';
import type { PolicyChat } from './sessions/policyChat.ts';
import { inOrder, recordedNode } from './sessions/records.ts';
import { chained, laidOut } from './sessions/rolloutOf.ts';

/** A rollout that an agent made, and the calls it consists of, in the order of its tokens. */
export interface RecordedSession {
  readonly rollout: Rollout;
  readonly calls: readonly ModelCallRecord[];
}

/** See above; `of` gives null if nothing is recorded, which fails with code `NOT_RECORDED`. */
export function replaySessions(
  of: (rolloutId: string) => Promise<RecordedSession | null>,
  chat: PolicyChat,
): Grow {
  return async (question, options, signal) => {
    const rollouts = Array.from({ length: options.samples(question) }, async (_, index) => {
      const id = rolloutId(question, index);
      const recorded = await of(id);
      if (recorded !== null) return again(recorded, chat, { question, options, signal });
      throw new MillraceError('NOT_RECORDED', `the session of rollout ${id} is not recorded`);
    });
    return { rollouts: await Promise.all(rollouts), toolCalls: [] };
  };
}

/** What a session is made again with. */
export interface Again {
  readonly question: Question;
  readonly options: Pick<RolloutOptions, 'engine' | 'seed'> & Sampling;
  readonly signal: AbortSignal;
}

/** A session, written again by the policy. */
export async function again(
  { rollout, calls }: RecordedSession,
  chat: PolicyChat,
  { question, options, signal }: Again,
): Promise<Rollout> {
  const nodes = new Map<number, CallNode>();
  for (const record of inOrder(calls)) {
    const parent = nodes.get(record.parent) ?? null;
    const tokens = Int32Array.from([...contextOf(parent), ...record.prompt]);
    const cut = record.finish === 'length';
    const made = await options.engine.generate(
      {
        ...samplingIn(options),
        tokens,
        maxTokens: cut ? record.tokens.length : options.engine.contextMax - tokens.length,
        stopTokens: chat.stopTokens,
        ...(record.stop.length === 0 ? {} : { stopTexts: record.stop }),
        draws: [...drawsOf(options.seed, question, sampler(record)), 'call', record.digest],
        topLogProbs: 0,
      },
      signal,
    );
    nodes.set(record.call, {
      ...recordedNode(record, parent, chat),
      ...{ tokens: made.tokens, logProbs: made.logProbs },
      spans: made.spans ?? [{ start: 0, end: made.tokens.length, version: made.version }],
      ended: chat.stopTokens.includes(made.tokens.at(-1) ?? -1),
    });
  }
  const { tokens, logProbs, segments, contexts } = laidOut(chained([...nodes.values()]));
  const { session } = rollout;
  return {
    ...rollout,
    ...{ question, tokens, logProbs, segments },
    session: session == null ? null : { ...session, contexts },
  };
}

/** The number of the run that sampled a call: a fork shares the draws of the run it left. */
function sampler({ sampledBy }: ModelCallRecord): number {
  return Number(sampledBy.slice(sampledBy.lastIndexOf('/') + 1));
}
