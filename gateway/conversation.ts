/**
 * An agent's model call and its answer, independent of protocol: every protocol is translated to and from
 * this.
 *
 * Nothing here is about tokens. The same conversation gives the same messages whichever protocol carried it,
 * except for what an SDK changes on the way (arguments rewritten, reasoning left out): `sameTurn` says what
 * counts.
 */

import type { McpServer } from '../operators/tools/mcp/index.ts';

type CallToolResult = Awaited<ReturnType<McpServer['call']>>;

/** A function that the agent offers to the model; `parameters` is a JSON schema. */
export interface FunctionTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** A call of a function; `arguments` is JSON text. */
export interface FunctionCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** What the model said in one turn. */
export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content: string;
  readonly reasoning: string | null;
  readonly calls: readonly FunctionCall[];
}

/** A message of a conversation. Content is text: other kinds are refused when the protocol is read. */
export type Message =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | AssistantMessage
  | ToolMessage;

/** A function's result; `isError` = the agent says that it failed. */
export interface ToolMessage {
  readonly role: 'tool';
  readonly callId: string;
  readonly content: string;
  readonly isError?: true;
}

/** A result as the policy and people read it. */
export function resultText({ content, isError }: Pick<ToolMessage, 'content' | 'isError'>): string {
  return isError !== true || /^\s*error\b/i.test(content) ? content : `Error: ${content}`;
}

/** The protocols that agents speak: OpenAI's Chat Completions and Responses, Anthropic's Messages. */
export type ProtocolName = 'chat' | 'responses' | 'messages';

/** What an agent asks the model for. */
export interface ModelCall {
  readonly protocol: ProtocolName;
  readonly model: string;
  readonly messages: readonly Message[];
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: 'auto' | 'none' | 'required' | { readonly name: string };
  /** Most tokens in the answer; null = the agent sets no limit. */
  readonly maxTokens: number | null;
  /** Texts that end the answer, which does not contain them. */
  readonly stop: readonly string[];
  /** Whether the answer may call several functions; left out = it may. */
  readonly parallel?: boolean;
}

/** The answer. */
export interface ModelReply {
  /** Letters, digits, `_` and `-`; unique in a session, and the same when the answer is repeated. */
  readonly id: string;
  readonly message: AssistantMessage;
  /** `calls` = it calls functions; `length` = it hit a limit. */
  readonly finish: 'stop' | 'length' | 'calls';
  /** The text of `stop` that ended it; left out = none did. */
  readonly stoppedBy?: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly createdMs: number;
}

/** A session as protocols use it: one run of an agent. */
export interface ModelSession {
  readonly id: string;
  /**
   * What a protocol remembers about the session (Responses refers to items by id); only the protocol reads
   * it.
   */
  readonly memory: Map<string, unknown>;
  /**
   * The answer to a call, once it is committed. `digest` is that of the raw request: the same request gets
   * the same answer. Rejects with a `GatewayRefusal`, or with the signal's reason.
   */
  call(call: ModelCall, digest: string, signal: AbortSignal): Promise<ModelReply>;
  /** Tokens in the prompt. Throws a `GatewayRefusal`. */
  count(call: ModelCall): number;
  /** The agent posts its reward. Rejects with a `GatewayRefusal`. */
  reward(value: number, reason: string, sent: RewardSent): Promise<void>;
  /** The MCP servers it reaches through the gateway; left out = none. */
  readonly mcp?: McpTools;
  /** Ends a session that does not end with its agent's run; ending it again does nothing. */
  end?(): Promise<void>;
}

/** What a tool of an MCP server returned: its result, or what the server says was wrong with the call. */
export type ToolOutcome =
  | { readonly result: CallToolResult }
  | { readonly error: { readonly code: number; readonly message: string } };

/** MCP servers as a session reaches them. Every method takes the name of one. */
export interface McpTools {
  readonly servers: readonly string[];
  /** Rejects if the server cannot be reached. */
  list(server: string): ReturnType<McpServer['tools']>;
  /**
   * Resolves once the call is committed. Rejects if the server cannot be reached, and when the session ends.
   */
  call(
    server: string,
    tool: string,
    given: Readonly<Record<string, unknown>>,
  ): Promise<ToolOutcome>;
}

/** How a reward was sent. */
export interface RewardSent {
  /** Identifies the reward when it is sent again. */
  readonly key: string;
  /** When the reward was earned; null = now. */
  readonly atMs: number | null;
}

/** A session opened on request. */
export interface OpenedSession {
  /** The rollout's id. */
  readonly id: string;
  readonly key: string;
}

/** All sessions, open and ended. */
export interface ModelSessions {
  /** The model names that `GET /v1/models` lists; a call under any name is answered. */
  readonly models: readonly string[];
  /** The session that this key belongs to. Throws a `GatewayRefusal`. */
  session(key: string): ModelSession;
  /**
   * Opens a session for a caller with the gateway's key; left out = sessions cannot be opened. The same
   * `name` gives the same session; empty = a new one. Rejects with a `GatewayRefusal`.
   */
  openNamed?(asked: {
    readonly key: string;
    readonly question: string;
    readonly name: string;
  }): Promise<OpenedSession>;
}

/** Why a call is not answered; each protocol says this in its own form. */
export type RefusalKind =
  /** The request does not follow the protocol, or asks for something unsupported. */
  | 'invalid'
  /** No key, or one that belongs to no session. */
  | 'key'
  /** The session has ended: an SDK must not try again. */
  | 'ended'
  /** A limit of the session (calls, tokens, time) is reached: an SDK must not try again. */
  | 'limit'
  /** The conversation does not fit the model's context. */
  | 'context'
  /** Too many bytes. */
  | 'size'
  /** The model cannot be asked now; the agent may try again. */
  | 'unavailable'
  /** Something broke on our side. */
  | 'failed';

/** A call that is not answered. */
export class GatewayRefusal extends Error {
  readonly kind: RefusalKind;
  /** The place in the request, as a path: `messages[3].content`; empty = none. */
  readonly at: string;

  constructor(kind: RefusalKind, message: string, at = '') {
    super(message);
    this.name = 'GatewayRefusal';
    this.kind = kind;
    this.at = at;
  }
}
