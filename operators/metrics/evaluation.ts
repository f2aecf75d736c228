/**
 * The numbers of an evaluation, from its scored groups (ET-Agent §9): accuracy, tool calls, efficiency, format.
 *
 * Efficiency is the mean over rollouts of c / T, and c where T is 0 (c = correctness, T = tool calls).
 */
import type { Scored } from '../../streams/records.ts';

/** The numbers of an evaluation; means are over rollouts. */
export interface Evaluation {
  /** Share of correct rollouts, 0..1. */
  readonly accuracy: number;
  readonly meanToolCalls: number;
  /** Over correct rollouts only; 0 when there is none. */
  readonly meanToolCallsCorrect: number;
  readonly efficiency: number;
  readonly formatValid: number;
  /** Mean response length in tokens, tool results included. */
  readonly tokens: number;
  readonly questions: number;
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The numbers of these groups, of any number of questions; all 0 for none. Correctness is the reward's part `raw`. */
export function evaluation(groups: readonly Scored[]): Evaluation {
  const samples = groups.flatMap((group) =>
    group.rewards.map((reward, i) => ({
      correct: reward.parts.raw ?? 0,
      valid: (reward.parts.format ?? 0) < 0 ? 0 : 1,
      calls: group.toolCalls[i] ?? 0,
      length: group.lengths[i] ?? 0,
    })),
  );
  return {
    accuracy: mean(samples.map((sample) => sample.correct)),
    meanToolCalls: mean(samples.map((sample) => sample.calls)),
    meanToolCallsCorrect: mean(samples.filter((s) => s.correct > 0).map((s) => s.calls)),
    efficiency: mean(samples.map(({ correct, calls }) => (calls > 0 ? correct / calls : correct))),
    formatValid: mean(samples.map((sample) => sample.valid)),
    tokens: mean(samples.map((sample) => sample.length)),
    questions: new Set(groups.map((group) => group.question.id)).size,
  };
}
