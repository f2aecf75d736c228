/**
 * A rollout as a conversation, for exporters: a turn is one of its messages, and a turn made by the policy
 * has its tokens. A session's turns come from its calls; those of our own rollouts from the text, cut at its
 * results.
 */
import { MillraceError } from '../../base/index.ts';
import type { FunctionCall, Message } from '../../gateway/index.ts';
import { contextsOf, type ModelCallRecord, type Rollout } from '../../topics/index.ts';

/** How the policy made a turn. */
export interface Made {
  readonly prompt: readonly number[];
  readonly tokens: readonly number[];
  readonly logProbs: readonly number[];
  /** The call of a session; left out for our own rollouts. */
  readonly call?: ModelCallRecord;
}

/** `callId` of a result is empty if the text names none. */
export interface Turn {
  readonly message: Message;
  /** Null = the policy did not make it here: the question, a result, or what an agent repeats. */
  readonly made: Made | null;
}

/** `calls`: those of the rollout's session, in any order. */
export function turnsOf(rollout: Rollout, calls: readonly ModelCallRecord[]): readonly Turn[] {
  return rollout.session ? sessionTurns(rollout, calls) : ownTurns(rollout);
}

function sessionTurns(rollout: Rollout, calls: readonly ModelCallRecord[]): readonly Turn[] {
  const byNumber = new Map(calls.map((call) => [call.call, call]));
  return rollout.session!.calls.flatMap(({ call: number, start, end }) => {
    const call = byNumber.get(number);
    if (call === undefined)
      throw new MillraceError(
        'NOT_FOUND',
        `the topic calls has no call ${number} of ${rollout.id}, so the conversation is incomplete`,
      );
    const { content, reasoning } = call;
    const functions = JSON.parse(call.functionCalls) as FunctionCall[];
    const said: Message = { role: 'assistant', content, reasoning, calls: functions };
    const before = (JSON.parse(call.messages) as Message[]).map((message) => ({
      ...{ message, made: null },
    }));
    return [...before, { message: said, made: { ...madeOf(rollout, start, end), call } }];
  });
}

const RESULT = /<result>([\s\S]*?)<\/result>/;

function ownTurns(rollout: Rollout): readonly Turn[] {
  const own = ownRuns(rollout);
  // Alternating text and results; text last, if there is any.
  const parts = rollout.text.split(RESULT);
  if (parts.length > 1 && parts.at(-1)!.trim() === '') parts.pop();
  const said = Math.ceil(parts.length / 2);
  const question: Turn = {
    message: { role: 'user', content: rollout.question.question },
    made: null,
  };
  const turns = parts.map((content, i): Turn => {
    if (i % 2 === 1) return { message: { role: 'tool', callId: '', content }, made: null };
    // If the text has other turns than the tokens, the owner of each token is unknown.
    const run = own.length === said ? own[i / 2]! : null;
    return {
      message: { role: 'assistant', content, reasoning: null, calls: [] },
      made: run === null ? null : madeOf(rollout, run.start, run.end),
    };
  });
  return [question, ...turns];
}

/** The policy's own tokens between results. */
function ownRuns({ segments }: Rollout): readonly { start: number; end: number }[] {
  const runs: { start: number; end: number }[] = [];
  for (const { kind, start, end } of segments) {
    const last = runs.at(-1);
    if (kind !== 'policy') continue;
    if (last?.end === start) last.end = end;
    else runs.push({ start, end });
  }
  return runs;
}

function madeOf(rollout: Rollout, start: number, end: number): Made {
  const context = contextsOf(rollout).findLast(({ at }) => at <= start)!;
  return {
    prompt: [...context.prompt, ...rollout.tokens.subarray(context.at, start)],
    tokens: [...rollout.tokens.subarray(start, end)],
    logProbs: [...rollout.logProbs.subarray(start, end)],
  };
}
