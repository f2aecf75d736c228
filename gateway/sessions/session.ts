/**
 * A session: the model calls of one run of an agent, answered by the policy.
 *
 * Guarantees:
 * - an answer is committed to the topic `calls` before the agent gets it;
 * - the same request gets the same answer, never a second sample: an SDK that asks again does not make a
 *   sibling;
 * - what was committed before a crash is answered from the record, as long as the requests are the same;
 * - after the end nothing is answered.
 *
 * A client that disconnects does not stop a call: when it asks again, the answer is there.
 */
import { type Clock, type DrawKey, eitherSignal, messageOf, raceAbort } from '../../base/index.ts';
import type { Generation, PolicyEngine, Sampling } from '../../model/index.ts';
import type { Branching } from '../../operators/sampling/index.ts';
import type { CallSpan, ModelCallRecord } from '../../topics/index.ts';
import {
  GatewayRefusal,
  type Message,
  type ModelCall,
  type ModelReply,
  type ModelSession,
} from '../conversation.ts';
import { type CallNode, CallTree, contextWith, lengthOf, type Placed } from './callTree.ts';
import type { PolicyChat } from './policyChat.ts';
import { type CallOwner, inOrder, nodeOf, recordedNodes, recordOf, replyIn } from './records.ts';
import { SessionTools, type ToolsOf } from './sessionTools.ts';

/** What a session may use. */
export interface SessionLimits {
  readonly calls: number;
  /** Tokens of one answer. */
  readonly answerTokens: number;
}

/** What a session is made of. */
export interface SessionOptions {
  /** Id of the rollout that it becomes. */
  readonly id: string;
  readonly questionId: string;
  readonly chat: PolicyChat;
  readonly engine: PolicyEngine;
  readonly sampling: Sampling;
  /** Names its draws; each call adds its own. */
  readonly draws: readonly DrawKey[];
  readonly limits: SessionLimits;
  readonly clock: Clock;
  readonly priority?: number;
  /** Commits a call. */
  readonly commit: (record: ModelCallRecord) => Promise<void>;
  /** Calls that were committed before, by this session or by the one that it is a fork of. */
  readonly past?: readonly ModelCallRecord[];
  /** Calls of this session, whose agent continues after them instead of starting over. */
  readonly resumed?: readonly ModelCallRecord[];
  /** How the entropy of a call's first tokens is measured; left out = it is not. */
  readonly measured?: Pick<Branching, 'entropyTokens' | 'logProbsPerToken' | 'stepEntropy'>;
  /** MCP servers that the agent reaches through the gateway; left out = none. */
  readonly tools?: ToolsOf;
  /** Aborted when what the session is for is no longer wanted. */
  readonly signal: AbortSignal;
}

/** Why calls are no longer answered. */
export type SessionStop = 'calls' | 'context' | null;

/** See above. */
export class Session implements ModelSession {
  readonly id: string;
  readonly memory = new Map<string, unknown>();
  readonly #options: SessionOptions;
  readonly #tree: CallTree;
  /** By the digest of the request. */
  readonly #answers = new Map<string, Promise<ModelReply>>();
  readonly #past: ReadonlyMap<string, ModelCallRecord>;
  readonly #ending = new AbortController();
  readonly mcp?: SessionTools;
  #last = { call: -1, recorded: -1, live: false };
  #number: number;
  #asked = 0;
  #repeated = 0;
  #stop: SessionStop = null;
  #failure = '';
  #reward: { readonly value: number; readonly reason: string } | null = null;
  #tell: () => void = () => undefined;
  /** Resolves when the agent has posted its reward. */
  readonly hasReward = new Promise<void>((resolve) => {
    this.#tell = resolve;
  });

  constructor(options: SessionOptions) {
    this.id = options.id;
    this.#options = options;
    this.#tree = new CallTree(options.chat);
    const { past = [], tools, id, questionId, clock } = options;
    if (tools !== undefined) {
      const { signal } = this.#ending;
      const standing = () => this.#last;
      this.mcp = new SessionTools({ ...tools, id, questionId, clock, signal, standing });
    }
    // What the session committed itself comes before what it is a fork of.
    const own = past.filter(({ sessionId }) => sessionId === options.id);
    this.#past = new Map([...past, ...own].map((record) => [record.digest, record]));
    const resumed = inOrder(options.resumed ?? []);
    for (const node of recordedNodes(resumed, options.chat)) this.#tree.add(node);
    for (const record of resumed) {
      this.#answers.set(record.digest, Promise.resolve(replyIn(record)));
    }
    this.#asked = resumed.length;
    this.#number = Math.max(-1, ...[...own, ...resumed].map(({ call }) => call)) + 1;
  }

  /** The calls that were answered, in the order in which they were committed. */
  get calls(): readonly CallNode[] {
    return this.#tree.nodes;
  }

  /** The limit that was reached. */
  get stop(): SessionStop {
    return this.#stop;
  }

  /** Why the policy could not answer; empty if it could. */
  get failure(): string {
    return this.#failure;
  }

  /** Requests that got an answer given before. */
  get repeated(): number {
    return this.#repeated;
  }

  /** The reward that the agent posted. */
  get rewarded(): { readonly value: number; readonly reason: string } | null {
    return this.#reward;
  }

  /** Nothing is answered from now on; resolves when no call is under way. */
  async end(): Promise<void> {
    this.#ending.abort(new GatewayRefusal('ended', 'this session has ended'));
    await Promise.allSettled(this.#answers.values());
    await this.mcp?.ended();
  }

  async call(call: ModelCall, digest: string, signal: AbortSignal): Promise<ModelReply> {
    this.#mustBeOpen();
    const known = this.#answers.get(digest);
    if (known !== undefined) {
      this.#repeated += 1;
      return raceAbort(known, signal);
    }
    const answer = this.#answer(call, digest);
    this.#answers.set(digest, answer);
    // What failed may be asked again.
    answer.catch(() => this.#answers.delete(digest));
    return raceAbort(answer, signal);
  }

  count(call: ModelCall): number {
    const { messages, tools } = call;
    this.#mustFit(call);
    return this.#options.chat.whole(messages, tools).length;
  }

  async reward(value: number, reason: string): Promise<void> {
    this.#mustBeOpen();
    this.#reward = { value, reason };
    this.#tell();
  }

  #mustBeOpen(): void {
    if (this.#ending.signal.aborted) throw this.#ending.signal.reason as GatewayRefusal;
  }

  async #answer(call: ModelCall, digest: string): Promise<ModelReply> {
    const { limits, chat, clock } = this.#options;
    if (this.#asked >= limits.calls) {
      this.#stop = 'calls';
      throw new GatewayRefusal(
        'limit',
        `this session may make at most ${limits.calls} model calls (agent.calls)`,
      );
    }
    const startedMs = clock.now();
    const placed = this.#placed(call);
    this.#asked += 1;
    try {
      const past = this.#recorded(digest, placed);
      if (past !== null) return await this.#again(past, placed);
      const stop = stopsOf(call, chat);
      const made = await this.#generate({ ...call, stop }, digest, placed);
      // Whoever asked again got an answer.
      this.#failure = '';
      const spans = spansOf(made);
      const read = readOf(made, call, chat);
      const by = stoppedBy(made, call);
      const reply = replyOf(read, { digest, startedMs, prompt: lengthWith(placed), made, by });
      const node = {
        ...placed,
        number: this.#number++,
        ...{ tokens: made.tokens, logProbs: made.logProbs, spans, entropy: this.#entropyOf(made) },
        ...{ ended: endsTurn(made, chat), reply, startedMs, endedMs: clock.now() },
      };
      await this.#committed(node, { ...call, stop, digest, sampledBy: this.id });
      this.#last = { ...this.#last, call: node.number, live: true };
      return reply;
    } catch (error) {
      this.#asked -= 1;
      throw error;
    }
  }

  #placed(call: ModelCall): Placed {
    try {
      this.#mustFit(call);
      return this.#tree.place(call);
    } catch (error) {
      if (error instanceof GatewayRefusal && error.kind === 'context') this.#stop = 'context';
      throw error;
    }
  }

  /** A conversation that cannot fit is refused before it is encoded, which would block all sessions. */
  #mustFit(call: ModelCall): void {
    const { contextMax } = this.#options.engine;
    const characters = charactersIn(call);
    if (characters <= contextMax * TOKEN_CHARACTERS) return;
    throw new GatewayRefusal(
      'context',
      `the conversation has ${characters} characters, too many for the model’s context of ${contextMax} tokens: leave older messages out, or shorten what tools return`,
      'messages',
    );
  }

  /** A committed call that answers this one: the same request, which came to the same tokens. */
  #recorded(digest: string, { prompt }: Placed): ModelCallRecord | null {
    const record = this.#past.get(digest);
    if (record === undefined || record.prompt.length !== prompt.length) return null;
    return record.prompt.every((token, i) => token === prompt[i]) ? record : null;
  }

  async #again(record: ModelCallRecord, placed: Placed): Promise<ModelReply> {
    const node = nodeOf(record, placed, this.#options.chat);
    let { number } = node;
    if (record.sessionId === this.id) this.#tree.add(node);
    else {
      number = this.#number++;
      await this.#committed({ ...node, number }, record);
    }
    this.#last = { ...this.#last, call: number, recorded: record.call };
    return node.reply;
  }

  async #committed(
    node: CallNode,
    of: Pick<CallOwner, 'protocol' | 'digest' | 'stop' | 'sampledBy'>,
  ): Promise<void> {
    const { id: sessionId, questionId, commit } = this.#options;
    const { protocol, digest, stop, sampledBy } = of;
    await commit(recordOf(node, { sessionId, questionId, protocol, digest, stop, sampledBy }));
    this.#tree.add(node);
  }

  #entropyOf({ topLogProbs }: Generation): number | null {
    const { measured, chat } = this.#options;
    return measured?.stepEntropy(topLogProbs, chat.tokenizer.vocabSize) ?? null;
  }

  async #generate(call: ModelCall, digest: string, placed: Placed): Promise<Generation> {
    const { engine, sampling, draws, limits, chat, priority, signal, measured } = this.#options;
    const tokens = contextWith(placed);
    const room = Math.min(
      limits.answerTokens,
      call.maxTokens ?? Number.POSITIVE_INFINITY,
      engine.contextMax - tokens.length,
    );
    if (room < 1) {
      this.#stop = 'context';
      throw new GatewayRefusal(
        'context',
        `the conversation has ${tokens.length} tokens, but the model’s context of ${engine.contextMax} must also hold the answer`,
      );
    }
    const either = eitherSignal([signal, this.#ending.signal]);
    try {
      return await engine.generate(
        {
          ...sampling,
          tokens,
          maxTokens: room,
          stopTokens: chat.stopTokens,
          ...(call.stop.length === 0 ? {} : { stopTexts: call.stop }),
          draws: [...draws, 'call', digest],
          topLogProbs: measured?.entropyTokens ?? 0,
          ...(measured?.logProbsPerToken === undefined
            ? {}
            : { logProbsPerToken: measured.logProbsPerToken }),
          ...(priority === undefined ? {} : { priority }),
        },
        either.signal,
      );
    } catch (error) {
      if (either.signal.aborted) throw either.signal.reason;
      if (error instanceof GatewayRefusal) throw error;
      this.#failure = messageOf(error);
      throw new GatewayRefusal('unavailable', `the model does not answer: ${this.#failure}`);
    } finally {
      either.release();
    }
  }
}

/** More characters than a token has on average in any text that means something. */
const TOKEN_CHARACTERS = 16;

function charactersIn({ messages, tools }: ModelCall): number {
  const offered = tools.length === 0 ? 0 : JSON.stringify(tools).length;
  return messages.reduce((sum, message) => sum + charactersOf(message), offered);
}

function charactersOf(message: Message): number {
  const { content } = message;
  if (message.role !== 'assistant') return content.length;
  const { reasoning, calls } = message;
  const called = calls.reduce((sum, call) => sum + call.arguments.length, 0);
  return content.length + (reasoning?.length ?? 0) + called;
}

function lengthWith({ parent, prompt }: Placed): number {
  return (parent === null ? 0 : lengthOf(parent)) + prompt.length;
}

function spansOf({ spans, tokens, version }: Generation): readonly CallSpan[] {
  return spans ?? [{ start: 0, end: tokens.length, version }];
}

function endsTurn({ tokens }: Pick<Generation, 'tokens'>, { stopTokens }: PolicyChat): boolean {
  return stopTokens.includes(tokens.at(-1) ?? -1);
}

/** What ends an answer: texts of the agent, and the end of a call where only one may be made. */
function stopsOf(
  { stop, parallel = true, tools }: ModelCall,
  { callEnd }: PolicyChat,
): readonly string[] {
  return parallel || tools.length === 0 || callEnd === '' ? stop : [...stop, callEnd];
}

/** The agent's text that ended an answer. */
function stoppedBy({ stopText }: Generation, { stop }: ModelCall): string | null {
  return stopText !== undefined && stop.includes(stopText) ? stopText : null;
}

function readOf(
  made: Generation,
  call: ModelCall,
  chat: PolicyChat,
): ReturnType<PolicyChat['read']> {
  const own = endsTurn(made, chat) ? made.tokens.subarray(0, -1) : made.tokens;
  const text = chat.tokenizer.decode(own);
  const by = stoppedBy(made, call);
  const cut = by === null ? -1 : text.lastIndexOf(by);
  const tools = call.toolChoice === 'none' ? [] : call.tools;
  const read = chat.read(cut < 0 ? text : text.slice(0, cut), tools);
  return call.parallel === false ? { ...read, calls: read.calls.slice(0, 1) } : read;
}

function replyOf(
  { content, reasoning, calls }: ReturnType<PolicyChat['read']>,
  {
    digest,
    startedMs,
    prompt,
    made,
    by,
  }: {
    readonly digest: string;
    readonly startedMs: number;
    readonly prompt: number;
    readonly made: Generation;
    readonly by: string | null;
  },
): ModelReply {
  const id = digest.slice(0, 16);
  const named = calls.map((call, i) => ({ id: `call_${id}_${i}`, ...call }));
  const stopped = named.length > 0 ? 'calls' : 'stop';
  return {
    id,
    message: { role: 'assistant', content, reasoning, calls: named },
    finish: made.finish === 'length' ? 'length' : stopped,
    stoppedBy: by,
    promptTokens: prompt,
    completionTokens: made.tokens.length,
    createdMs: startedMs,
  };
}
