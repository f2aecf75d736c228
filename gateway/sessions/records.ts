/** A call of a session as a record of the topic `calls`, and back. */
import type { ModelCallRecord } from '../../topics/index.ts';
import type { FunctionCall, Message, ModelReply } from '../conversation.ts';
import type { CallNode, Placed } from './callTree.ts';
import type { PolicyChat } from './policyChat.ts';

/** What a record says besides its call. */
export interface CallOwner {
  readonly sessionId: string;
  readonly questionId: string;
  readonly protocol: string;
  readonly digest: string;
  readonly stop: readonly string[];
  readonly sampledBy: string;
}

export function recordOf(node: CallNode, owner: CallOwner): ModelCallRecord {
  const { parent, join, difference, kept, tools, reply } = node;
  const { content, reasoning, calls } = reply.message;
  return {
    ...owner,
    stop: [...owner.stop],
    call: node.number,
    parent: parent?.number ?? -1,
    ...{ join, difference, kept },
    messages: JSON.stringify(node.messages.slice(kept)),
    tools: parent?.toolsKey === node.toolsKey ? '' : JSON.stringify(tools),
    ...{ prompt: node.prompt, tokens: node.tokens, logProbs: node.logProbs },
    spans: [...node.spans],
    entropy: node.entropy,
    promptTokens: reply.promptTokens,
    replyId: reply.id,
    ...{ content, reasoning },
    functionCalls: JSON.stringify(calls),
    finish: reply.finish,
    ...{ startedMs: node.startedMs, endedMs: node.endedMs },
  };
}

/** The call where it is placed now. */
export function nodeOf(record: ModelCallRecord, placed: Placed, chat: PolicyChat): CallNode {
  const { call: number, tokens, logProbs, spans, entropy, startedMs, endedMs } = record;
  return {
    ...placed,
    ...{ number, tokens, logProbs, spans, entropy, startedMs, endedMs },
    ended: chat.stopTokens.includes(tokens.at(-1) ?? -1),
    reply: replyIn(record),
  };
}

/** The answer that a record holds. */
export function replyIn(record: ModelCallRecord): ModelReply {
  const { replyId: id, content, reasoning, finish, promptTokens, tokens, startedMs } = record;
  const calls = JSON.parse(record.functionCalls) as FunctionCall[];
  return {
    id,
    message: { role: 'assistant', content, reasoning, calls },
    finish,
    promptTokens,
    completionTokens: tokens.length,
    createdMs: startedMs,
  };
}

/** The messages that a record adds to its parent's conversation. */
export function messagesIn({ messages }: ModelCallRecord): readonly Message[] {
  return JSON.parse(messages) as Message[];
}
