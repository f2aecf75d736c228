/**
 * The numbers of an evaluation, from its scored groups (ET-Agent §9): accuracy, tool calls, efficiency,
 * format.
 *
 * Efficiency is the mean over rollouts of c / T, and c where T is 0 (c = correctness, T = tool calls).
 */

import { hasValidFormat, type Scored } from '../../topics/index.ts';
import type { PartOfMean } from './interval.ts';

export { hasValidFormat };

/** The numbers of an evaluation; means are over rollouts. */
export interface Evaluation {
  /** Share of correct rollouts, 0..1. */
  readonly accuracy: number;
  readonly meanToolCalls: number;
  /** Over correct rollouts only; 0 if there are none. */
  readonly meanToolCallsCorrect: number;
  readonly efficiency: number;
  /** Share of rollouts with a valid form (`hasValidFormat`). */
  readonly formatValid: number;
  /** Mean response length in tokens, tool results included. */
  readonly tokens: number;
  readonly questions: number;
}

/** Figures that are means over rollouts, so that each question has its own. */
export const meanFigures = [
  'accuracy',
  'meanToolCalls',
  'efficiency',
  'formatValid',
  'tokens',
] as const satisfies readonly (keyof Evaluation)[];
/** One of `meanFigures`. */
export type MeanFigure = (typeof meanFigures)[number];

type Sample = Readonly<Record<MeanFigure, number>>;

function samplesOf({ rewards, toolCalls, lengths }: Scored): Sample[] {
  return rewards.map(({ parts }, i) => {
    const accuracy = parts.raw ?? 0;
    const calls = toolCalls[i] ?? 0;
    return {
      accuracy,
      meanToolCalls: calls,
      efficiency: calls > 0 ? accuracy / calls : accuracy,
      formatValid: hasValidFormat(parts) ? 1 : 0,
      tokens: lengths[i] ?? 0,
    };
  });
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * The figures of these groups, for any number of questions; all 0 for none. Correctness is the reward's part
 * `raw`.
 */
export function evaluation(groups: readonly Scored[]): Evaluation {
  const samples = groups.flatMap(samplesOf);
  const right = samples.filter(({ accuracy }) => accuracy > 0);
  const over = (figure: MeanFigure): number => mean(samples.map((sample) => sample[figure]));
  return {
    accuracy: over('accuracy'),
    meanToolCalls: over('meanToolCalls'),
    meanToolCallsCorrect: mean(right.map(({ meanToolCalls }) => meanToolCalls)),
    efficiency: over('efficiency'),
    formatValid: over('formatValid'),
    tokens: over('tokens'),
    questions: new Set(groups.map((group) => group.question.id)).size,
  };
}

/** For each question, by id: the calls of its right responses, and how many those are. */
export function callsWhenRight(groups: readonly Scored[]): ReadonlyMap<string, PartOfMean> {
  return new Map(
    groups.map((group) => {
      const right = samplesOf(group).filter(({ accuracy }) => accuracy > 0);
      const sum = right.reduce((calls, { meanToolCalls }) => calls + meanToolCalls, 0);
      return [group.question.id, { sum, count: right.length }];
    }),
  );
}

/** A figure for each question, by id: the mean over its rollouts. */
export function byQuestion(
  groups: readonly Scored[],
  figure: MeanFigure,
): ReadonlyMap<string, number> {
  return new Map(
    groups.map((group) => [group.question.id, mean(samplesOf(group).map((one) => one[figure]))]),
  );
}
