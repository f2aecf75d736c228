/**
 * `http`: an agent behind an address. It gets the question and the address of the policy. When it is done it
 * answers 200 with `{ "answer", "reward", "reason" }` or an empty body. Or it answers 202 at once and is done
 * when it posts its reward to the session (`POST …/reward`).
 */

import { z } from 'zod';
import { Exchange } from '../../base/http/index.ts';
import { messageOf, outsideText, type SleepClock } from '../../base/index.ts';
import { type Agent, type AgentEnd, type AgentTask, mcpUrls } from './agent.ts';

export interface HttpAgentOptions {
  readonly url: string;
  /** Value of its `Authorization` header; empty = none. */
  readonly authorization?: string;
  readonly timeoutMs: number;
  readonly clock: SleepClock;
}

const BYTES_MAX = 1024 * 1024;

const reply = z.looseObject({
  answer: z.string().optional(),
  reward: z.number().optional(),
  reason: z.string().optional(),
});

/** See above. */
export function httpAgent({ url, authorization = '', timeoutMs, clock }: HttpAgentOptions): Agent {
  const exchange = new Exchange({ clock, timeoutMs, replyBytesMax: BYTES_MAX });
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...(authorization === '' ? {} : { authorization }),
  };
  return {
    async run(task, signal) {
      const over = new AbortController();
      const late = clock.sleep(timeoutMs, over.signal).then(
        () => true,
        () => false,
      );
      try {
        const body = JSON.stringify(requestOf(task));
        const answered = await exchange.ask({ url, headers, body }, signal);
        if (!answered.ok) return failed(`${answered.status}: ${outsideText(answered.text())}`);
        if (answered.status !== 202) return await ended(answered.text(), task);
        const isLate = await Promise.race([late, task.rewarded.then(() => false), abortOf(signal)]);
        signal.throwIfAborted();
        return isLate
          ? failed(`202, but no reward within ${Math.round(timeoutMs / 1000)} s (agent.timeoutMs)`)
          : { failure: '', exitCode: null, output: '' };
      } catch (error) {
        signal.throwIfAborted();
        return failed(messageOf(error));
      } finally {
        over.abort();
      }
    },
    close: async () => exchange.close(),
  };

  function failed(what: string): AgentEnd {
    return {
      failure: `the agent at ${new URL(url).origin} answered ${what}`,
      exitCode: null,
      output: '',
    };
  }
}

function requestOf({ id, question, index, baseUrl, key, mcp = [] }: AgentTask) {
  return {
    rollout_id: id,
    index,
    base_url: `${baseUrl}/v1`,
    anthropic_base_url: baseUrl,
    reward_url: `${baseUrl}/v1/reward`,
    api_key: key,
    ...(mcp.length === 0 ? {} : { mcp_urls: mcpUrls({ baseUrl, mcp }) }),
    question: { id: question.id, question: question.question, task: question.task ?? null },
  };
}

async function ended(text: string, task: AgentTask): Promise<AgentEnd> {
  const none = { failure: '', exitCode: null, output: '' };
  if (text.trim() === '') return none;
  const { answer, reward, reason = '' } = reply.parse(JSON.parse(text));
  if (reward !== undefined) await task.reward(reward, reason);
  return { ...none, ...(answer === undefined ? {} : { answer }) };
}

/** Resolves when the signal aborts. */
function abortOf(signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(false), { once: true });
  });
}
