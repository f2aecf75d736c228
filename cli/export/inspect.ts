/** Rollouts as samples of an Inspect log (`.eval`), and the log's header. Pure. */
import { jsonIn } from '../../base/text/index.ts';
import type { FunctionCall, Message } from '../../gateway/index.ts';
import {
  type McpCallRecord,
  mcpAnswer,
  mcpCallsIn,
  type Reward,
  type Rollout,
} from '../../topics/index.ts';
import type { SessionRecords } from './sessionRecords.ts';
import { type Turn, turnsOf } from './turns.ts';

/** A log's origin. */
export interface InspectOf {
  readonly run: string;
  readonly job: string;
  /** The version of millrace. */
  readonly version: string;
  /** When and why its questions were asked: `evaluate-3`. */
  readonly asked: string;
}

/** A sample, as far as the log's header needs it. */
export interface SampleFacts {
  readonly id: string;
  readonly epoch: number;
  readonly scores: Readonly<Record<string, number>>;
  readonly startedMs: number;
  readonly endedMs: number;
}

/** A failed rollout has no scores: its failure is not the policy's. */
export function factsOf(rollout: Rollout, { score, parts }: Reward): SampleFacts {
  const { question, index, startedMs, endedMs, status } = rollout;
  return {
    ...{ id: question.id, epoch: index + 1, startedMs, endedMs },
    scores: status === 'failed' ? {} : { ...parts, reward: score },
  };
}

/** A question id is a path of its own making, and Inspect looks for `<id>_epoch_<n>`. */
export function sampleFile({ id, epoch }: SampleFacts): string {
  return `samples/${id}_epoch_${epoch}.json`;
}

export function sampleOf(
  rollout: Rollout,
  { calls, mcpCalls }: SessionRecords,
  reward: Reward,
  { run }: InspectOf,
): Readonly<Record<string, unknown>> {
  const { question, status, finish, reason, version } = rollout;
  const facts = factsOf(rollout, reward);
  const turns = turnsOf(rollout, calls);
  const model = `millrace/${run}@${version}`;
  const made = turns.flatMap((turn) => (turn.made === null ? [] : [turn.made]));
  const input = made.reduce((sum, { prompt }) => sum + prompt.length, 0);
  const output = made.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  const last = turns.findLast(({ message }) => message.role === 'assistant');
  const stop = finish === 'length' ? 'max_tokens' : 'stop';
  const events = mcpCallsIn(rollout, mcpCalls).map((call) => toolEvent(call, rollout.startedMs));
  const seconds = Math.max(0, rollout.endedMs - rollout.startedMs) / 1000;
  return {
    ...{ id: facts.id, epoch: facts.epoch, input: question.question, target: question.answers },
    messages: turns.map(chatMessage),
    output: {
      model,
      choices: last === undefined ? [] : [{ message: chatMessage(last), stop_reason: stop }],
      usage,
    },
    scores: Object.fromEntries(
      Object.entries(facts.scores).map(([name, value]) => [name, { value }]),
    ),
    metadata: {
      ...{ rollout: rollout.id, phase: question.phase, round: question.round, status, finish },
      ...{ reason, source: question.source, version },
    },
    ...{ store: {}, events, model_usage: { [model]: usage }, uuid: `${run}/${rollout.id}` },
    ...{ started_at: isoTime(rollout.startedMs), completed_at: isoTime(rollout.endedMs) },
    ...{ total_time: seconds, working_time: seconds },
    ...(status === 'failed'
      ? { error: { message: reason, traceback: '', traceback_ansi: '' } }
      : {}),
  };
}

function chatMessage({ message }: Turn): Readonly<Record<string, unknown>> {
  const { role, content } = message;
  if (role === 'tool')
    return { role, content, ...(message.callId === '' ? {} : { tool_call_id: message.callId }) };
  if (role !== 'assistant') return { role, content };
  const { reasoning, calls } = message as Extract<Message, { role: 'assistant' }>;
  const text = { type: 'text', text: content };
  return {
    ...{ role, source: 'generate' },
    content: reasoning === null ? content : [{ type: 'reasoning', reasoning }, text],
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(toolCall) }),
  };
}

/** A call of an MCP tool that the agent made itself. */
function toolEvent(call: McpCallRecord, beganMs: number): Readonly<Record<string, unknown>> {
  const { number, after, server, tool, input, ranFor, sessionId, startedMs, endedMs } = call;
  const { ok, text } = mcpAnswer(call);
  return {
    ...{ event: 'tool', ...toolCall({ id: `mcp-${number}`, name: tool, arguments: input }) },
    ...(ok ? { result: text } : { result: '', error: { type: 'unknown', message: text } }),
    ...{ timestamp: isoTime(startedMs), completed: isoTime(endedMs), events: [] },
    working_start: Math.max(0, startedMs - beganMs) / 1000,
    working_time: Math.max(0, endedMs - startedMs) / 1000,
    metadata: { server, after_call: after, from_record: ranFor !== sessionId },
  };
}

/** Arguments that are not a JSON object are kept as written. */
function toolCall({ id, name, arguments: text }: FunctionCall) {
  const value = jsonIn(text);
  const fits = typeof value === 'object' && value !== null && !Array.isArray(value);
  return { id, function: name, arguments: fits ? value : { input: text }, type: 'function' };
}

/** The log without its samples. Scores are the means of all samples that have them. */
export function headerOf(
  samples: readonly SampleFacts[],
  { run, job, version, asked }: InspectOf,
): Readonly<Record<string, unknown>> {
  const ids = [...new Set(samples.map(({ id }) => id))];
  const names = [...new Set(samples.flatMap(({ scores }) => Object.keys(scores)))];
  const started = isoTime(samples.reduce((least, one) => Math.min(least, one.startedMs), Infinity));
  const completed = isoTime(samples.reduce((most, one) => Math.max(most, one.endedMs), 0));
  const epochs = samples.reduce((most, { epoch }) => Math.max(most, epoch), 1);
  return {
    ...{ version: 2, status: 'success' },
    eval: {
      ...{ eval_id: `${run}-${asked}`, run_id: run, created: started, task: `${job} ${asked}` },
      ...{ task_id: `${job}-${asked}`, model: `millrace/${run}`, config: { epochs } },
      dataset: { name: asked, samples: ids.length, sample_ids: ids },
      packages: { millrace: version },
    },
    plan: { name: 'millrace', steps: [], config: {} },
    results: {
      ...{ total_samples: samples.length, completed_samples: samples.length },
      scores: names.map((name) => {
        const values = samples.flatMap(({ scores }) => scores[name] ?? []);
        const value = values.reduce((sum, one) => sum + one, 0) / values.length;
        return { name, scorer: name, metrics: { mean: { name: 'mean', value } } };
      }),
    },
    stats: { started_at: started, completed_at: completed, model_usage: {} },
  };
}

function isoTime(ms: number): string {
  return new Date(Math.trunc(ms)).toISOString().replace('Z', '+00:00');
}
