/** Sessions over a scripted policy with function calling. */
import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { AssistantMessage, ModelCall } from '../../gateway/conversation.ts';
import { type PolicyChat, policyChat } from '../../gateway/sessions/policyChat.ts';
import { Session, type SessionOptions } from '../../gateway/sessions/session.ts';
import { loadChatTokenizer } from '../../model/hf/index.ts';
import { manualClock } from '../../testing/manualClock.ts';
import {
  type ScriptedPolicy,
  type ScriptLine,
  scriptedPolicy,
} from '../../testing/scriptedPolicy.ts';
import type { ModelCallRecord } from '../../topics/index.ts';
import { writeByteBpe } from './byteBpe.ts';
import { HERMES_TOKENS, hermesTemplate } from './chatTemplates.ts';

/** The chat of a policy in this folder, whose template keeps or drops the thinking of earlier turns. */
export async function hermesChat(folder: string, keeps = true): Promise<PolicyChat> {
  const policy = join(folder, `policy-${keeps}`);
  mkdirSync(policy, { recursive: true });
  writeByteBpe(policy, hermesTemplate({ keeps }), { added: HERMES_TOKENS });
  return policyChat(await loadChatTokenizer(policy), policy);
}

export const WEATHER = {
  name: 'weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

/** A call of the policy's, as it writes it. */
export const calling = (name: string, json: string): string =>
  `<tool_call>\n{"name": "${name}", "arguments": ${json}}\n</tool_call><|im_end|>`;

export interface Scripted {
  readonly session: Session;
  readonly engine: ScriptedPolicy;
  readonly records: readonly ModelCallRecord[];
}

/** A session whose policy says what the script says. */
export function scripted(
  chat: PolicyChat,
  script: (line: ScriptLine) => string,
  over: Partial<SessionOptions> & { readonly contextMax?: number } = {},
): Scripted {
  const { contextMax = 4096, ...rest } = over;
  const records: ModelCallRecord[] = [];
  const engine = scriptedPolicy({ tokenizer: chat.tokenizer, script, contextMax });
  const session = new Session({
    ...{ id: 'q1/explore-0/0', questionId: 'q1', chat, engine },
    ...{ sampling: { temperature: 1 }, draws: [1, 'q1', 'explore', 0, 0] },
    limits: { calls: 9, answerTokens: 400 },
    clock: manualClock(),
    commit: async (record) => {
      records.push(record);
    },
    signal: new AbortController().signal,
    ...rest,
  });
  return { session, engine, records };
}

/** A call of the model with these messages. */
export function asking(messages: ModelCall['messages'], over: Partial<ModelCall> = {}): ModelCall {
  return {
    ...{ protocol: 'chat', model: 'm', messages, tools: [WEATHER], toolChoice: 'auto' },
    ...{ maxTokens: null, stop: [] },
    ...over,
  };
}

/** As a server makes it of the request. */
export function digestOf(call: ModelCall): string {
  return createHash('sha256').update(JSON.stringify(call)).digest('hex');
}

/** Asks, and gives the message of the answer. */
export async function ask(session: Session, call: ModelCall): Promise<AssistantMessage> {
  const { signal } = new AbortController();
  return (await session.call(call, digestOf(call), signal)).message;
}
