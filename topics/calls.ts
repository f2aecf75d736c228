/** `calls`: model calls of foreign agents, each committed before the agent gets its answer. */

import { counted } from '../base/text/index.ts';
import {
  choice,
  float32s,
  int32s,
  list,
  named,
  nullable,
  real,
  record,
  text,
  type ValueOf,
  whole,
  withDefault,
} from '../streams/contracts/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';
import { questionLink } from './links.ts';

const callJoin = choice('CallJoin', ['first', 'continued', 'merged', 'separate']);
/**
 * How a call's context came about: `first` = it begins a conversation; `continued` = the conversation goes on
 * from an earlier call, whose own tokens were kept; `merged` = the agent rewrote earlier messages, with the
 * same tokens as a result; `separate` = the tokens differ, so the call stands by itself.
 */
export type CallJoin = ValueOf<typeof callJoin>;

const callSpan = record('CallSpan', { start: whole, end: whole, version: whole });
/** Tokens [start, end) of an answer, all made by one policy version. */
export interface CallSpan extends ValueOf<typeof callSpan> {}

export const modelCall = record('ModelCall', {
  /** Id of the session: that of its rollout. */
  sessionId: text,
  questionId: text,
  /** Number of the call in its session, from 0; a session repeated after a crash counts on. */
  call: whole,
  /** The call whose context it continues; -1 = none. */
  parent: whole,
  join: callJoin,
  /** The session that sampled the answer: another one if this is a fork of it. */
  sampledBy: text,
  /** What the agent changed in earlier messages if the call is `separate`; otherwise empty. */
  difference: text,
  /** SHA-256 of the request: the same request gets the same answer. */
  digest: text,
  protocol: text,
  /** How many messages of the parent's conversation, including its answer, the call repeats. */
  kept: whole,
  /** The messages after those, as JSON. */
  messages: text,
  /** The tools it offers, as JSON; empty = those of the parent. */
  tools: text,
  /** Texts that end the answer. */
  stop: list(text),
  /** Context tokens after the parent's; the whole context if there is no parent. */
  prompt: int32s,
  /** Tokens of the whole context. */
  promptTokens: whole,
  /** The answer's tokens and their log-probs at temperature 1 (nats). */
  tokens: int32s,
  logProbs: float32s,
  spans: list(named<CallSpan>(callSpan)),
  /** Step entropy of its first tokens, if sessions branch; null = not measured. */
  entropy: nullable(real),
  /** The answer that the agent got: id, content, reasoning, function calls as JSON. */
  replyId: text,
  content: text,
  reasoning: nullable(text),
  functionCalls: text,
  finish: choice('CallFinish', ['stop', 'length', 'calls']),
  startedMs: real,
  endedMs: real,
  /** The text of `stop` that ended the answer, among those the agent sent; null = none did. */
  stoppedBy: withDefault(nullable(text), null),
});
/** One model call of an agent. */
export interface ModelCallRecord extends ValueOf<typeof modelCall> {}

export const modelCalls = defineRunTopic<ModelCallRecord>({
  name: 'calls',
  about:
    'Model calls of agents behind the gateway, each committed before the agent gets the answer. The gateway writes it; resume, replay and forks read it.',
  shape: modelCall,
  version: 2,
  key: ({ sessionId }) => sessionId,
  subjects: ({ questionId }) => [questionId],
  large: true,
  identity: ({ sessionId, call }) => `${sessionId}#${call}`,
  moment: ({ spans }) => Math.max(0, ...spans.map(({ version }) => version)),
  given: true,
  keyName: 'rollout id',
  line: ({ sessionId, call, join, tokens, finish, content, spans }) =>
    `call ${call} of ${sessionId}, ${join}: ${counted(tokens.length, 'token')}, ${finish}, v${spans[0]?.version ?? 0}: ${content}`,
  links: ({ sessionId, questionId }) => [
    { label: 'trajectory', path: `t/${encodeURIComponent(sessionId)}` },
    questionLink(questionId),
  ],
});
