/**
 * A rollout and its calls as spans, by OpenTelemetry's conventions for generative AI: `invoke_agent` and, in
 * it, `execute_tool`, and for an agent `chat` for its model calls and `execute_tool` for its MCP tools. Pure.
 *
 * Their ids are made of the run's and the rollout's, so that a span which is sent twice is the same span. The
 * words of models, tools and questions are in them only on request, and truncated.
 */
import { createHash } from 'node:crypto';
import { outsideText, withoutSecrets } from '../../base/index.ts';
import { visibleLines } from '../../base/text/index.ts';
import {
  type McpCallRecord,
  type ModelCallRecord,
  mcpAnswer,
  type Rollout,
  type ToolCall,
} from '../../topics/index.ts';
import type { RunAbout } from '../outside/exportMetrics.ts';

export interface SpanId {
  /** 32 and 16 hexadecimal digits. */
  readonly traceId: string;
  readonly spanId: string;
}

export type Attributes = Readonly<Record<string, string | number | boolean | string[]>>;

export interface Span {
  readonly id: SpanId;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly failed: boolean;
  /** The rollout that this one branched from. */
  readonly from: SpanId | null;
}

export interface RolloutSpans {
  readonly rollout: Span;
  readonly calls: readonly Span[];
}

export interface SpanOptions {
  readonly about: RunAbout;
  /** Includes the texts of questions, responses and tools. */
  readonly content: boolean;
}

/** Limits of a text and of a name, in characters. */
export const TEXT_MAX = 8_000;
const NAME_MAX = 200;
const TOOL_MAX = 64;

/** An agent's actions, in order. */
export interface AgentCalls {
  readonly models: readonly ModelCallRecord[];
  readonly mcp: readonly McpCallRecord[];
}

const NONE: AgentCalls = { models: [], mcp: [] };

/** `calls`: the tool calls of this rollout, in order. */
export function spansOf(
  rollout: Rollout,
  calls: readonly ToolCall[],
  { about, content }: SpanOptions,
  agent: AgentCalls = NONE,
): RolloutSpans {
  const id = idOf(about, rollout.id);
  const startMs = rollout.startedMs;
  const endMs = Math.max(startMs, rollout.endedMs);
  const starts = startsOf(rollout, calls);
  return {
    rollout: {
      id,
      name: `invoke_agent ${about.job}`,
      startMs,
      endMs,
      attributes: { ...rolloutAttributes(rollout, about), ...(content ? saidIn(rollout) : {}) },
      failed: rollout.status === 'failed',
      from: parentOf(rollout, about),
    },
    calls: [
      ...agent.models.map((call) => chatSpan(call, id, { about, content })),
      ...agent.mcp.map((call) => mcpSpan(call, { id, startMs, endMs }, { about, content })),
      ...calls.map((call, i) => ({
        id: {
          traceId: id.traceId,
          spanId: digest(about, `${rollout.id}#${call.turn}`).slice(32, 48),
        },
        name: `execute_tool ${toolName(call)}`,
        startMs: Math.min(starts[i]!, endMs),
        endMs: Math.min(starts[i]! + call.ms, endMs),
        attributes: { ...callAttributes(call, about), ...(content ? saidBy(call) : {}) },
        failed: !call.ok,
        from: null,
      })),
    ],
  };
}

/** An agent's model call; its times are measured. */
function chatSpan(
  call: ModelCallRecord,
  { traceId }: SpanId,
  { about, content }: SpanOptions,
): Span {
  const { sessionId, call: number, startedMs, endedMs, spans } = call;
  const model = `${about.run}@${spans[0]?.version ?? 0}`;
  return {
    id: { traceId, spanId: digest(about, `${sessionId}#chat ${number}`).slice(32, 48) },
    name: `chat ${model}`,
    startMs: startedMs,
    endMs: Math.max(startedMs, endedMs),
    attributes: { ...chatAttributes(call, model, about), ...(content ? saidInChat(call) : {}) },
    failed: false,
    from: null,
  };
}

/**
 * An agent's call of an MCP tool. One answered from the record of another session ran before this one and has
 * no time here.
 */
function mcpSpan(
  call: McpCallRecord,
  { id, startMs, endMs }: Pick<Span, 'id' | 'startMs' | 'endMs'>,
  { about, content }: SpanOptions,
): Span {
  const { sessionId, number, server, input, ranFor } = call;
  const { ok, text } = mcpAnswer(call);
  const within = (ms: number): number => Math.min(endMs, Math.max(startMs, ms));
  const name = toolName(call);
  return {
    id: {
      traceId: id.traceId,
      spanId: digest(about, `${sessionId}#mcp ${number}`).slice(32, 48),
    },
    name: `execute_tool ${name}`,
    startMs: within(call.startedMs),
    endMs: within(call.endedMs),
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.provider.name': 'millrace',
      'gen_ai.tool.name': name,
      'gen_ai.tool.type': 'extension',
      'gen_ai.tool.call.id': named(`${sessionId}#mcp ${number}`),
      'gen_ai.conversation.id': named(sessionId),
      'millrace.run': about.run,
      'millrace.mcp.server': named(server),
      'millrace.tool.from_record': ranFor !== sessionId,
      'millrace.tool.duration_ms': call.endedMs - call.startedMs,
      ...(ok ? {} : { 'error.type': 'tool_failed' }),
      ...(content ? saidBy({ input, output: text }) : {}),
    },
    failed: !ok,
    from: null,
  };
}

const FINISH: Readonly<Record<ModelCallRecord['finish'], string>> = {
  ...{ stop: 'stop', length: 'length', calls: 'tool_calls' },
};

function chatAttributes(call: ModelCallRecord, model: string, { run }: RunAbout): Attributes {
  const { sessionId, replyId, promptTokens, tokens, finish, stop } = call;
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'millrace',
    'gen_ai.request.model': model,
    'gen_ai.response.model': model,
    'gen_ai.response.id': replyId,
    'gen_ai.conversation.id': named(sessionId),
    'gen_ai.usage.input_tokens': promptTokens,
    'gen_ai.usage.output_tokens': tokens.length,
    'gen_ai.response.finish_reasons': [FINISH[finish]],
    ...(stop.length === 0 ? {} : { 'gen_ai.request.stop_sequences': stop.map(named) }),
    'millrace.run': run,
    'millrace.call': call.call,
    'millrace.call.parent': call.parent,
    'millrace.call.join': call.join,
    'millrace.protocol': call.protocol,
  };
}

/** The messages that the call adds to the conversation, and the answer. */
function saidInChat({ messages, content, reasoning, functionCalls }: ModelCallRecord): Attributes {
  const message = (role: string, text: string) => ({
    ...{ role, parts: [{ type: 'text', content: said(text) }] },
  });
  const added = JSON.parse(messages) as { readonly role: string; readonly content: string }[];
  const answer = [reasoning ?? '', content, functionCalls === '[]' ? '' : functionCalls];
  return {
    'gen_ai.input.messages': said(
      JSON.stringify(added.map(({ role, content: text }) => message(role, text))),
    ),
    'gen_ai.output.messages': JSON.stringify([
      message('assistant', answer.filter((one) => one !== '').join('\n')),
    ]),
  };
}

function rolloutAttributes(rollout: Rollout, { run, job }: RunAbout): Attributes {
  const { question, segments, finish, parent } = rollout;
  const tokens = (kind: 'policy' | 'tool') =>
    segments.reduce((sum, one) => sum + (one.kind === kind ? one.end - one.start : 0), 0);
  return {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': 'millrace',
    'gen_ai.agent.name': job,
    'gen_ai.agent.id': run,
    'gen_ai.agent.version': String(rollout.version),
    'gen_ai.request.model': `${run}@${rollout.version}`,
    'gen_ai.request.seed': rollout.seed,
    'gen_ai.conversation.id': named(rollout.id),
    'gen_ai.usage.input_tokens': rollout.prompt.length,
    'gen_ai.usage.output_tokens': tokens('policy'),
    'gen_ai.response.finish_reasons': [finish],
    'millrace.run': run,
    'millrace.question.id': named(question.id),
    'millrace.phase': question.phase,
    'millrace.round': question.round,
    'millrace.rollout.index': rollout.index,
    'millrace.tool_calls': rollout.toolCalls,
    'millrace.tokens.tool': tokens('tool'),
    ...(parent === null
      ? {}
      : { 'millrace.parent.index': parent.index, 'millrace.parent.offset': parent.offset }),
    ...(rollout.status === 'failed' ? { 'error.type': 'rollout_failed' } : {}),
  };
}

function callAttributes(call: ToolCall, { run }: RunAbout): Attributes {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.provider.name': 'millrace',
    'gen_ai.tool.name': toolName(call),
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': named(`${call.rolloutId}#${call.turn}`),
    'gen_ai.conversation.id': named(call.rolloutId),
    'millrace.run': run,
    'millrace.tool.cached': call.cached,
    'millrace.tool.attempts': call.attempts,
    'millrace.tool.duration_ms': call.ms,
    'millrace.start.estimated': true,
    ...(call.ok ? {} : { 'error.type': 'tool_failed' }),
  };
}

function saidIn({ question, text, reason }: Rollout): Attributes {
  const message = (role: string, content: string) =>
    JSON.stringify([{ role, parts: [{ type: 'text', content: said(content) }] }]);
  return {
    'gen_ai.input.messages': message('user', question.question),
    'gen_ai.output.messages': message('assistant', text),
    ...(reason === '' ? {} : { 'millrace.reason': said(reason) }),
  };
}

function saidBy({ input, output }: Pick<ToolCall, 'input' | 'output'>): Attributes {
  return { 'gen_ai.tool.call.arguments': said(input), 'gen_ai.tool.call.result': said(output) };
}

/**
 * When each call began. A call records how long it took, not when, so the rest of the rollout's time is
 * spread over the tokens that the policy wrote before it.
 */
function startsOf(rollout: Rollout, calls: readonly ToolCall[]): number[] {
  const { startedMs, endedMs, segments, parent } = rollout;
  const begin = parent?.offset ?? 0;
  const tools = segments.filter(({ kind }) => kind === 'tool');
  /** Policy tokens of its own before this place. */
  const written = (place: number) =>
    segments
      .filter(({ kind }) => kind === 'policy')
      .reduce((sum, { start, end }) => {
        return sum + Math.max(0, Math.min(end, place) - Math.max(start, begin));
      }, 0);
  const all = Math.max(1, written(Number.POSITIVE_INFINITY));
  const inTools = calls.reduce((sum, { ms }) => sum + ms, 0);
  const elsewhereMs = Math.max(0, endedMs - startedMs - inTools);
  let before = 0;
  return calls.map(({ turn, ms }) => {
    const place = tools[turn]?.start ?? Number.POSITIVE_INFINITY;
    const startMs = startedMs + before + (elsewhereMs * written(place)) / all;
    before += ms;
    return startMs;
  });
}

/** A branch and its parent are in one group: their ids differ in the last part. */
function parentOf({ id, parent }: Rollout, about: RunAbout): SpanId | null {
  return parent === null ? null : idOf(about, id.replace(/[^/]*$/, String(parent.index)));
}

function idOf(about: RunAbout, rolloutId: string): SpanId {
  const hex = digest(about, rolloutId);
  return { traceId: hex.slice(0, 32), spanId: hex.slice(32, 48) };
}

function digest({ run, startedMs }: RunAbout, what: string): string {
  return createHash('sha256').update(`${run}@${startedMs}/${what}`).digest('hex');
}

/** A policy may call tools that do not exist, by any name. */
function toolName({ tool }: Pick<ToolCall, 'tool'>): string {
  return outsideText(tool, TOOL_MAX);
}

function named(id: string): string {
  return outsideText(id, NAME_MAX);
}

function said(text: string): string {
  const clean = visibleLines(withoutSecrets(text));
  return clean.length > TEXT_MAX
    ? `${clean.slice(0, TEXT_MAX)}… (${clean.length} characters)`
    : clean;
}
