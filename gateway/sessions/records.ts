/** A call of a session as a record of the topic `calls`, and back. */
import type { ModelCallRecord } from '../../topics/index.ts';
import type { FunctionCall, FunctionTool, Message, ModelReply } from '../conversation.ts';
import type { CallNode, Placed } from './callTree.ts';
import { toolsKey } from './knownTools.ts';
import type { PolicyChat } from './policyChat.ts';

/** The fields of a record besides its call. */
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
    stoppedBy: reply.stoppedBy ?? null,
    ...{ startedMs: node.startedMs, endedMs: node.endedMs },
  };
}

/** The call, where it is placed now. */
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
  const { stoppedBy } = record;
  const calls = JSON.parse(record.functionCalls) as FunctionCall[];
  return {
    id,
    message: { role: 'assistant', content, reasoning, calls },
    ...{ finish, stoppedBy, promptTokens },
    completionTokens: tokens.length,
    createdMs: startedMs,
  };
}

/** The call in a record, placed after the call it goes on from. */
export function recordedNode(
  record: ModelCallRecord,
  parent: CallNode | null,
  chat: PolicyChat,
): CallNode {
  const { join, difference, kept, prompt } = record;
  const own = JSON.parse(record.messages) as Message[];
  const before = parent === null || kept === 0 ? [] : [...parent.messages, parent.reply.message];
  const tools =
    record.tools === '' ? (parent?.tools ?? []) : (JSON.parse(record.tools) as FunctionTool[]);
  const key = record.tools === '' ? (parent?.toolsKey ?? toolsKey([])) : toolsKey(tools);
  const messages = [...before, ...own];
  return nodeOf(
    record,
    { parent, join, difference, messages, kept, tools, toolsKey: key, prompt },
    chat,
  );
}

/** The recorded calls of a session, in the order in which they were committed. */
export function recordedNodes(
  records: readonly ModelCallRecord[],
  chat: PolicyChat,
): readonly CallNode[] {
  const nodes = new Map<number, CallNode>();
  for (const record of inOrder(records)) {
    nodes.set(record.call, recordedNode(record, nodes.get(record.parent) ?? null, chat));
  }
  return [...nodes.values()];
}

export function inOrder(records: readonly ModelCallRecord[]): readonly ModelCallRecord[] {
  return records.toSorted((a, b) => a.call - b.call);
}
