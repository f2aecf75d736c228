/** A session as verifiers see it, and how it is sent to one. */
import type { Question } from '../../topics/index.ts';
import type { AssistantMessage, FunctionTool, Message } from '../conversation.ts';
import type { CallNode } from '../sessions/callTree.ts';

/** What is judged. */
export interface JudgedSession {
  readonly id: string;
  readonly question: Question;
  readonly index: number;
  /** In the order in which they were committed. */
  readonly calls: readonly CallNode[];
  /** The answer that the agent gave; null = it gave none, so the policy's last message counts. */
  readonly answer: string | null;
  readonly exitCode: number | null;
  readonly output: string;
}

/** How a verifier is asked. */
export interface VerifierForm {
  /** What the verifier gets before the agent works; null = nothing. */
  seed(question: Question): unknown;
  readonly seedPath: string;
  /** The path below the verifier's address. */
  readonly path: string;
  request(session: JudgedSession): unknown;
  /** The parts of the reward in its answer. */
  partsIn(answer: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
}

/** One step of a session: what a tool or a user said, and the policy's turn after it. */
export interface JudgedTurn {
  readonly before: readonly Message[];
  readonly turn: AssistantMessage;
  readonly call: CallNode;
}

/** The session's turns, each with the messages before it that no earlier turn had. */
export function turnsOf(calls: readonly CallNode[]): readonly JudgedTurn[] {
  return calls.map((call) => ({
    before: call.messages.slice(call.kept),
    turn: call.reply.message,
    call,
  }));
}

/** The policy's last message without a call. */
export function finalMessage(calls: readonly CallNode[]): string {
  return (
    calls.findLast(({ reply }) => reply.message.calls.length === 0)?.reply.message.content ?? ''
  );
}

/** The tools that its first call offers. */
export function toolsIn(calls: readonly CallNode[]): readonly FunctionTool[] {
  return calls[0]?.tools ?? [];
}
