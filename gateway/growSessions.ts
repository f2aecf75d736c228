/**
 * Grows a question's group by running an agent n times: each run is a session of the gateway, and becomes a rollout.
 */
import type { Clock, DrawKey } from '../base/index.ts';
import { samplingIn } from '../model/index.ts';
import type { Grow, RolloutOptions } from '../operators/rollout/index.ts';
import { type ModelCallRecord, type Question, type Rollout, rolloutId } from '../topics/index.ts';
import type { Agent } from './agents/agent.ts';
import { watchExactness } from './exactness.ts';
import type { PolicyChat } from './sessions/policyChat.ts';
import { type AgentEnd, rolloutOf } from './sessions/rolloutOf.ts';
import { Session, type SessionLimits, type SessionOptions } from './sessions/session.ts';
import type { Sessions } from './sessions/sessions.ts';

/** What sessions are made with. */
export interface SessionsOf {
  readonly agent: Agent;
  readonly sessions: Sessions;
  readonly chat: PolicyChat;
  /** Where the gateway listens: the session is put behind it. */
  readonly address: string;
  readonly limits: SessionLimits;
  readonly commit: (record: ModelCallRecord) => Promise<void>;
  /** Calls that the session of this id committed before a crash, or that it is a fork of. */
  readonly past: (id: string) => Promise<NonNullable<SessionOptions['past']>>;
  readonly clock: Clock;
  readonly report: (line: string) => void;
}

/** See above. */
export function growSessions(gateway: SessionsOf): Grow {
  const see = watchExactness(gateway.report);
  return async (question, options, signal) => {
    const groupSize = options.samples(question);
    const runs = Array.from({ length: groupSize }, (_, index) =>
      runOnce(gateway, { question, index, groupSize, options, signal, see }),
    );
    return { rollouts: await Promise.all(runs), toolCalls: [] };
  };
}

interface Run {
  readonly question: Question;
  readonly index: number;
  readonly groupSize: number;
  readonly options: RolloutOptions;
  readonly signal: AbortSignal;
  readonly see: (session: Session) => void;
}

async function runOnce(gateway: SessionsOf, run: Run): Promise<Rollout> {
  const { question, index, groupSize, options, signal } = run;
  const { sessions, agent, chat, clock, limits, commit } = gateway;
  const id = rolloutId(question, index);
  const startedMs = clock.now();
  const session = new Session({
    ...{ id, questionId: question.id, chat, limits, clock, commit, signal },
    engine: options.engine,
    sampling: samplingIn(options),
    draws: drawsOf(options.seed, question, index),
    past: await gateway.past(id),
  });
  const key = sessions.open(session);
  let end: AgentEnd;
  try {
    const baseUrl = `${gateway.address}/s/${key}`;
    const reward = (value: number, reason: string) => session.reward(value, reason);
    const rewarded = session.hasReward;
    end = await agent.run({ id, question, index, baseUrl, key, rewarded, reward }, signal);
  } finally {
    sessions.close(key);
    await session.end();
  }
  run.see(session);
  const { calls, stop, rewarded: reward } = session;
  return rolloutOf({
    ...{ question, index, groupSize, calls, stop, reward, startedMs },
    seed: options.seed,
    end: judged(end, session),
    version: options.gate.version,
    markers: chat.tokenizer.markers ?? [],
    endedMs: clock.now(),
  });
}

export function drawsOf(seed: number, { id, phase, round }: Question, index: number): DrawKey[] {
  return [seed, id, phase, round, index];
}

/**
 * A run that the policy ended by going on too long counts, whatever the agent made of the refusal; one without a
 * call or with a policy that could not be asked does not.
 */
function judged(end: AgentEnd, { stop, calls, failure }: Session): AgentEnd {
  if (failure !== '') return { ...end, failure: `the policy could not be asked: ${failure}` };
  if (calls.length > 0) return stop === null ? end : { ...end, failure: '' };
  const why = end.failure === '' ? 'it ended' : end.failure;
  return {
    ...end,
    failure: `the agent made no model call (${why}): does it read OPENAI_BASE_URL or ANTHROPIC_BASE_URL?`,
  };
}
