/**
 * The calls of a session as a tree: a call goes on from another where its context begins with that one's
 * context and answer, token by token. Pure: committed calls are added, new calls are placed.
 *
 * The policy's own tokens are kept wherever a conversation goes on. If an agent rewrites earlier messages, it
 * gets the template's rendering of them, and the difference is reported.
 */

import type { CallJoin, CallSpan } from '../../topics/index.ts';
import { firstDifference, firstDifferenceOf, sameTurn } from '../canonical.ts';
import type { FunctionTool, Message, ModelCall, ModelReply } from '../conversation.ts';
import type { PolicyChat } from './policyChat.ts';

/** A committed call. */
export interface CallNode {
  readonly number: number;
  readonly parent: CallNode | null;
  readonly join: CallJoin;
  readonly difference: string;
  /** The conversation before the answer; turns of the policy as it wrote them. */
  readonly messages: readonly Message[];
  /** Of `messages`, how many are the parent's and its answer. */
  readonly kept: number;
  readonly tools: readonly FunctionTool[];
  readonly toolsKey: string;
  /** Context tokens after the parent's; all of them without one. */
  readonly prompt: Int32Array;
  readonly tokens: Int32Array;
  readonly logProbs: Float32Array;
  readonly spans: readonly CallSpan[];
  /** Of its first tokens; null = not measured. */
  readonly entropy: number | null;
  /** The tokens end with one that ends a turn. */
  readonly ended: boolean;
  readonly reply: ModelReply;
  readonly startedMs: number;
  readonly endedMs: number;
}

/** Where a new call belongs. */
export type Placed = Pick<
  CallNode,
  'parent' | 'join' | 'difference' | 'messages' | 'kept' | 'tools' | 'toolsKey' | 'prompt'
>;

/** Tokens of a call's context, its answer included. */
export function lengthOf(node: CallNode): number {
  let length = 0;
  for (let at: CallNode | null = node; at !== null; at = at.parent)
    length += at.prompt.length + at.tokens.length;
  return length;
}

/** A call's context and answer. */
export function contextOf(node: CallNode | null): Int32Array {
  return joined(node, []);
}

/** The context of a new call. */
export function contextWith({ parent, prompt }: Placed): Int32Array {
  return joined(parent, [prompt]);
}

/** A call's context and answer, and `last` after them. */
function joined(node: CallNode | null, last: readonly Int32Array[]): Int32Array {
  const parts = [...last];
  for (let at = node; at !== null; at = at.parent) parts.push(at.tokens, at.prompt);
  const all = new Int32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts.reverse()) {
    all.set(part, place);
    place += part.length;
  }
  return all;
}

/** See above. */
export class CallTree {
  readonly #chat: PolicyChat;
  readonly #nodes: CallNode[] = [];

  constructor(chat: PolicyChat) {
    this.#chat = chat;
  }

  /** In the order in which they were committed. */
  get nodes(): readonly CallNode[] {
    return this.#nodes;
  }

  add(node: CallNode): void {
    this.#nodes.push(node);
  }

  /** Throws a `GatewayRefusal` for what the policy's template does not take. */
  place({ messages, tools: offered }: ModelCall): Placed {
    const { tools, key } = this.#chat.known.of(offered);
    const parent = this.#continued(messages, key);
    if (parent !== null) {
      const before = [...parent.messages, parent.reply.message];
      const added = messages.slice(before.length);
      const prompt = this.#chat.grown(before, added, tools, parent.ended);
      const all = [...before, ...added];
      // Our turns after the parent's came back as something else.
      const rewrites = added.some(({ role }) => role === 'assistant');
      return {
        parent,
        join: 'continued',
        difference: rewrites ? this.#difference(messages, key, parent) : '',
        messages: all,
        kept: before.length,
        tools,
        toolsKey: key,
        prompt,
      };
    }
    const ours = messages.map((message) => this.#asWritten(message));
    const whole = this.#chat.whole(ours, tools);
    const found = this.#merged(whole);
    const common = { messages: ours, kept: 0, tools, toolsKey: key };
    if (found !== null) {
      const prompt = whole.slice(lengthOf(found));
      return { ...common, parent: found, join: 'merged', difference: '', prompt };
    }
    const difference = this.#difference(messages, key);
    const join = difference === '' ? 'first' : 'separate';
    return { ...common, parent: null, join, difference, prompt: whole };
  }

  /** The longest conversation that these messages go on from. */
  #continued(messages: readonly Message[], key: string): CallNode | null {
    let best: CallNode | null = null;
    for (const node of this.#nodes.toReversed()) {
      const { length } = node.messages;
      if (node.toolsKey !== key || length + 1 > messages.length) continue;
      if (best !== null && best.messages.length >= length) continue;
      if (!sameTurn(node.reply.message, messages[length]!)) continue;
      if (node.messages.every((message, i) => sameTurn(message, messages[i]!))) best = node;
    }
    return best;
  }

  /** The longest context that these tokens go on from. */
  #merged(whole: Int32Array): CallNode | null {
    let best: CallNode | null = null;
    let length = 0;
    for (const node of this.#nodes.toReversed()) {
      const own = lengthOf(node);
      if (own <= length || own > whole.length) continue;
      if (contextOf(node).every((token, i) => token === whole[i])) [best, length] = [node, own];
    }
    return best;
  }

  /** A turn of ours as the policy wrote it, reasoning included; any other message as it came. */
  #asWritten(message: Message): Message {
    if (message.role !== 'assistant') return message;
    const own = this.#nodes.findLast(({ reply }) => sameTurn(reply.message, message));
    return own?.reply.message ?? message;
  }

  /** What an agent changed in earlier messages after those of `parent`; empty if we know none of them. */
  #difference(messages: readonly Message[], key: string, parent: CallNode | null = null): string {
    const turns = messages.filter(({ role }) => role === 'assistant');
    if (turns.length === 0) return '';
    let found = '';
    let longest = -1;
    for (const node of this.#nodes) {
      const past = [...node.messages, node.reply.message];
      const shared = past.findIndex((message, i) => {
        const theirs = messages[i];
        return theirs === undefined || firstDifference(message, theirs) !== null;
      });
      const same = shared < 0 ? past.length : shared;
      const repeats = same >= node.messages.length || this.#knows(node, turns);
      if (!repeats || same <= longest || (shared < 0 && parent !== null)) continue;
      longest = same;
      found =
        shared < 0
          ? node.toolsKey === key
            ? 'the chat template renders earlier messages differently'
            : 'the tools have changed'
          : (firstDifferenceOf(past, messages.slice(0, past.length)) ?? 'messages are missing');
    }
    return found;
  }

  /** Whether some of these turns are an answer of this call. */
  #knows({ reply }: CallNode, turns: readonly Message[]): boolean {
    const ids = new Set(reply.message.calls.map(({ id }) => id));
    return turns.some(
      (turn) =>
        sameTurn(reply.message, turn) ||
        (turn.role === 'assistant' && turn.calls.some(({ id }) => ids.has(id))),
    );
  }
}
