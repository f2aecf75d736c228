/**
 * The tools of one question's flywheel: each call runs in the toolbox and is kept as a `tool-calls` record of
 * the trajectory that made it.
 */
import { type Question, rolloutId, type ToolCall } from '../../topics/index.ts';
import type { CallTool } from '../callTools.ts';
import { isFailedResult } from '../dialect/results.ts';
import type { RunTool } from './runTool.ts';

export interface RecordedCalls {
  readonly run: RunTool;
  /** All calls, by trajectory and turn: independent of which finished first. */
  readonly inOrder: () => readonly ToolCall[];
}

export interface RecordedCallsOptions {
  readonly tools: Pick<CallTool, 'call'>;
  readonly signal: AbortSignal;
  /** A failed call's output as the toolbox gave it, even if nothing in it shows the failure. */
  readonly asGiven: boolean;
}

export function recordedCalls(question: Question, options: RecordedCallsOptions): RecordedCalls {
  const calls: ToolCall[] = [];
  const turns = new Map<string, number>();
  return {
    async run(tool, input, by, text) {
      const id = rolloutId(question, by);
      const turn = turns.get(id) ?? 0;
      turns.set(id, turn + 1);
      const origin = { rolloutId: id, turn };
      const trajectory = () => text;
      const { files } = question.task ?? {};
      const asked = { ...origin, trajectory, ...(files ? { files } : {}) };
      const called = await options.tools.call(tool, input, options.signal, asked);
      calls.push({ ...origin, questionId: question.id, tool, input, ...called });
      const { output, ok } = called;
      // The quality filter reads only the text, so a failure must show there.
      return ok || options.asGiven || isFailedResult(output)
        ? output
        : `Tool execute failed: ${output}`;
    },
    inOrder: () => [...calls].sort((a, b) => order(a.rolloutId, b.rolloutId) || a.turn - b.turn),
  };
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
