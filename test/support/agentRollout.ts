/** A rollout of an agent, at a real gateway whose policy says what a script says. */
import { sleepClock, systemClock } from '../../base/index.ts';
import { growSessions } from '../../gateway/growSessions.ts';
import { type Agent, gatewayServer, Sessions } from '../../gateway/index.ts';
import type { PolicyChat } from '../../gateway/sessions/policyChat.ts';
import { type ScriptedPolicyOptions, scriptedPolicy } from '../../testing/scriptedPolicy.ts';
import type { Rollout } from '../../topics/index.ts';
import { question } from './records.ts';
import { rolloutOptions } from './rolloutOptions.ts';

const clock = sleepClock(systemClock);

export interface AgentRun {
  readonly agent: Agent;
  readonly chat: PolicyChat;
  readonly script: ScriptedPolicyOptions['script'];
  /** Of the question, which has no answers. */
  readonly id?: string;
  readonly signal?: AbortSignal;
}

/** See above; the agent is closed. */
export async function agentRollout(run: AgentRun): Promise<Rollout> {
  const { agent, chat, script, id = 'q1', signal = new AbortController().signal } = run;
  const sessions = new Sessions('policy');
  const failed = (error: unknown): void => {
    throw error;
  };
  const server = await gatewayServer({ sessions, clock, failed });
  try {
    const grow = growSessions({
      ...{ agent, sessions, chat, clock, address: server.url, atOnce: 2 },
      limits: { calls: 5, answerTokens: 1_000 },
      commit: async () => undefined,
      past: async () => [],
      report: () => undefined,
    });
    const { tokenizer } = chat;
    const engine = scriptedPolicy({ tokenizer, script, contextMax: 100_000 });
    const options = rolloutOptions(script, { engine, responseMax: 100_000, samples: () => 1 });
    const asked = question({ id, answers: [] });
    const { rollouts } = await grow(asked, options, signal);
    return rollouts[0]!;
  } finally {
    await server.close();
    await agent.close();
  }
}
