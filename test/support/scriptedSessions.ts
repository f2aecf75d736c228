/**
 * Sessions that answer from a script, as a gateway's sessions do: the same request gets the same answer,
 * other requests the next one, and none after the last.
 */
import {
  type AssistantMessage,
  GatewayRefusal,
  type ModelCall,
  type ModelReply,
  type ModelSession,
  type ModelSessions,
} from '../../gateway/conversation.ts';

export interface ScriptedSession extends ModelSession {
  /** Calls that got an answer of their own, in order. */
  readonly calls: readonly ModelCall[];
  /** The digest of each request that came, in order. */
  readonly digests: readonly string[];
  readonly signals: readonly AbortSignal[];
  readonly rewards: readonly { value: number; reason: string }[];
}

export interface ScriptedOptions {
  /** What happens before the n-th request is answered, from 0; may throw. */
  readonly before?: (request: number, signal: AbortSignal) => Promise<void> | void;
  readonly finish?: ModelReply['finish'];
}

export function replyOf(
  id: string,
  message: AssistantMessage,
  finish: ModelReply['finish'] = message.calls.length > 0 ? 'calls' : 'stop',
): ModelReply {
  return {
    id,
    message,
    finish,
    promptTokens: 11,
    completionTokens: 7,
    createdMs: 1_700_000_000_500,
  };
}

export function said(
  content: string,
  reasoning: string | null = null,
  ...calls: AssistantMessage['calls']
): AssistantMessage {
  return { role: 'assistant', content, reasoning, calls };
}

export class ScriptedSessions implements ModelSessions {
  readonly models = ['policy'];
  readonly #open = new Map<string, ScriptedSession>();
  readonly #ended = new Set<string>();

  open(key: string, script: readonly AssistantMessage[], options: ScriptedOptions = {}) {
    const session = scriptedSession(key, script, options, () => this.#ended.has(key));
    this.#open.set(key, session);
    return session;
  }

  end(key: string): void {
    this.#ended.add(key);
  }

  session(key: string): ModelSession {
    const found = this.#open.get(key);
    if (found === undefined) throw new GatewayRefusal('key', 'no session has this key');
    return found;
  }
}

function scriptedSession(
  key: string,
  script: readonly AssistantMessage[],
  { before, finish }: ScriptedOptions,
  hasEnded: () => boolean,
): ScriptedSession {
  const calls: ModelCall[] = [];
  const digests: string[] = [];
  const signals: AbortSignal[] = [];
  const rewards: { value: number; reason: string }[] = [];
  const given = new Map<string, ModelReply>();
  const mustBeOpen = (): void => {
    if (hasEnded()) throw new GatewayRefusal('ended', 'the session has ended');
  };
  return {
    id: key,
    memory: new Map(),
    calls,
    digests,
    signals,
    rewards,
    async call(call, digest, signal) {
      digests.push(digest);
      signals.push(signal);
      await before?.(digests.length - 1, signal);
      mustBeOpen();
      const known = given.get(digest);
      if (known !== undefined) return known;
      const message = script[calls.length];
      if (message === undefined) throw new GatewayRefusal('limit', 'the session has no calls left');
      const reply = replyOf(`${key}-${calls.length}`, message, finish);
      calls.push(call);
      given.set(digest, reply);
      return reply;
    },
    count: ({ messages }) => messages.reduce((sum, { content }) => sum + content.length, 0),
    async reward(value, reason) {
      mustBeOpen();
      rewards.push({ value, reason });
    },
  };
}
