/** A rollout as a trajectory of ATIF-v1.7, the format of Harbor's agents. Pure. */
import { jsonIn } from '../../base/text/index.ts';
import type { FunctionCall } from '../../gateway/index.ts';
import { type McpCallRecord, mcpAnswer, mcpCallsIn, type Rollout } from '../../topics/index.ts';
import type { SessionRecords } from './sessionRecords.ts';
import { type Turn, turnsOf } from './turns.ts';

interface Step {
  readonly source: 'system' | 'user' | 'agent';
  readonly message: string;
  readonly tool_calls?: readonly { readonly tool_call_id: string }[];
  readonly observation?: { readonly results: Result[] };
  readonly [field: string]: unknown;
}

interface Result {
  readonly source_call_id?: string;
  readonly content: string;
}

/** A trajectory's origin. */
export interface AtifOf {
  readonly run: string;
  readonly job: string;
  /** The version of millrace. */
  readonly version: string;
}

export function atifOf(
  rollout: Rollout,
  { calls, mcpCalls }: SessionRecords,
  { run, job, version }: AtifOf,
): Readonly<Record<string, unknown>> {
  const turns = turnsOf(rollout, calls);
  const steps = stepsOf(turns, mcpCallsIn(rollout, mcpCalls));
  const made = turns.flatMap((turn) => (turn.made === null ? [] : [turn.made]));
  const sum = (length: (one: (typeof made)[number]) => number) =>
    made.reduce((total, one) => total + length(one), 0);
  const tools = calls.find((call) => call.tools !== '' && call.tools !== '[]')?.tools;
  const definitions = (JSON.parse(tools ?? '[]') as unknown[]).map((tool) => ({
    ...{ type: 'function', function: tool },
  }));
  const { question, status, finish, reason, session } = rollout;
  return {
    schema_version: 'ATIF-v1.7',
    session_id: `${run}/${rollout.id}`,
    trajectory_id: rollout.id,
    agent: {
      ...{ name: job, version, model_name: `${run}@${rollout.version}` },
      ...(definitions.length === 0 ? {} : { tool_definitions: definitions }),
    },
    steps: steps.map((step, i) => ({ step_id: i + 1, ...step })),
    final_metrics: {
      total_prompt_tokens: sum(({ prompt }) => prompt.length),
      total_completion_tokens: sum(({ tokens }) => tokens.length),
      total_steps: steps.length,
    },
    extra: {
      ...{ question_id: question.id, answers: question.answers, phase: question.phase },
      ...{ round: question.round, status, finish, reason },
      ...(session ? { reward: session.reward, reward_reason: session.rewardReason } : {}),
    },
  };
}

function stepsOf(turns: readonly Turn[], mcpCalls: readonly McpCallRecord[]): readonly Step[] {
  const steps: Step[] = [];
  const dispatch = (after: number | undefined): void => {
    const calls = mcpCalls.filter((call) => call.after === after);
    if (calls.length > 0) steps.push(dispatchStep(calls));
  };
  dispatch(-1);
  for (const turn of turns) {
    const { message } = turn;
    if (message.role === 'tool') addResult(steps, message.callId, message.content);
    else if (message.role === 'assistant') {
      steps.push(agentStep(turn));
      dispatch(turn.made?.call?.call);
    } else steps.push({ source: message.role, message: message.content });
  }
  return steps;
}

/** A result belongs to the step that called; a result that answers no call there comes from the user. */
function addResult(steps: Step[], callId: string, content: string): void {
  const at = steps.findLastIndex(({ source, tool_calls: calls }) =>
    callId === ''
      ? source === 'agent'
      : (calls?.some(({ tool_call_id: id }) => id === callId) ?? false),
  );
  const step = steps[at];
  const results = step?.observation?.results ?? [];
  const known = callId !== '' && results.some(({ source_call_id: id }) => id === callId);
  if (step === undefined || known) {
    steps.push({ source: 'user', message: content, extra: { tool_call_id: callId } });
    return;
  }
  const result = callId === '' ? { content } : { source_call_id: callId, content };
  steps[at] = { ...step, observation: { results: [...results, result] } };
}

function agentStep({ message, made }: Turn): Step {
  if (message.role !== 'assistant') throw new Error('not the policy');
  const { content, reasoning, calls } = message;
  const call = made?.call;
  return {
    ...(call === undefined ? {} : { timestamp: new Date(call.startedMs).toISOString() }),
    ...{ source: 'agent' as const, message: content },
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(toolCall) }),
    ...(made === null
      ? {}
      : {
          llm_call_count: 1,
          metrics: {
            ...{ prompt_tokens: made.prompt.length, completion_tokens: made.tokens.length },
            ...{ prompt_token_ids: made.prompt, completion_token_ids: made.tokens },
            logprobs: made.logProbs,
          },
        }),
    ...(call === undefined
      ? {}
      : { extra: { call: call.call, parent: call.parent, join: call.join, finish: call.finish } }),
  };
}

/** What the agent did itself, without the policy. */
function dispatchStep(calls: readonly McpCallRecord[]): Step {
  const idOf = ({ number }: McpCallRecord): string => `mcp-${number}`;
  return {
    ...{ timestamp: new Date(calls[0]!.startedMs).toISOString(), source: 'agent' as const },
    ...{ message: '', llm_call_count: 0 },
    tool_calls: calls.map((call) => ({
      ...toolCall({ id: idOf(call), name: call.tool, arguments: call.input }),
      extra: {
        ...{ server: call.server, duration_ms: call.endedMs - call.startedMs },
        from_record: call.ranFor !== call.sessionId,
      },
    })),
    observation: {
      results: calls.map((call) => {
        const { ok, text } = mcpAnswer(call);
        const failed = ok ? {} : { extra: { is_error: true } };
        return { source_call_id: idOf(call), content: text, ...failed };
      }),
    },
  };
}

/** Arguments that are not a JSON object are kept as written. */
function toolCall({ id, name, arguments: text }: FunctionCall) {
  const value = jsonIn(text);
  const fits = typeof value === 'object' && value !== null && !Array.isArray(value);
  return { tool_call_id: id, function_name: name, arguments: fits ? value : { input: text } };
}
