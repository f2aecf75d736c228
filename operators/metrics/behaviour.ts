/**
 * What an evaluation shows beyond accuracy, by the names of the metrics topic: successful execution,
 * reasoning length and conciseness and right calls if the rewards left the parts for them (`execution`, a
 * vote, `toolPo`), pass@k where questions have several rollouts.
 */
import type { Scored } from '../../topics/index.ts';
import { perFailure, perToken } from './execution.ts';
import { headline, isRight } from './headline.ts';
import { meanPassAtK, passSizes } from './passAtK.ts';

/** Numbers by their names in the `metrics` topic, such as `eval/pass@4`. */
export type NamedNumbers = Readonly<Record<string, number>>;

/** Only known numbers: one without its parts is left out. Reasoning length is per 1000 tokens. */
export function behaviour(groups: readonly Scored[]): NamedNumbers {
  const responses = groups.flatMap(({ question, rewards }) =>
    rewards.map(({ parts }) => ({ parts, correct: headline(parts, question) })),
  );
  const executed = responses.flatMap(({ parts, correct }) => {
    const { resultBlocks, failedResults, thinkingLength } = parts;
    if (failedResults === undefined || thinkingLength === undefined) return [];
    return [
      { correct, execution: { resultBlocks: resultBlocks ?? 0, failedResults, thinkingLength } },
    ];
  });
  const concise = responses.flatMap(({ parts }) => parts.concise ?? []);
  return {
    ...named('eval/successful_execution', executed, (r) => perFailure(r.correct, r.execution)),
    ...named('eval/reasoning_length', executed, (r) => 1000 * perToken(r.correct, r.execution)),
    ...named('eval/conciseness', concise, (value) => value),
    ...rightCalls(responses.map(({ parts }) => parts)),
    ...passes(groups),
  };
}

function named<T>(name: string, of: readonly T[], value: (one: T) => number): NamedNumbers {
  if (of.length === 0) return {};
  return { [name]: of.reduce((sum, one) => sum + value(one), 0) / of.length };
}

/**
 * For rewards that say which calls were right (`toolPo`): the share of right calls, and their number per
 * response.
 */
function rightCalls(all: readonly Scored['rewards'][number]['parts'][]): NamedNumbers {
  const known = all.filter(({ attempted }) => attempted !== undefined);
  if (known.length === 0) return {};
  const sum = (part: string): number =>
    known.reduce((total, parts) => total + (parts[part] ?? 0), 0);
  return {
    'eval/tools_right': sum('right') / Math.max(1, sum('attempted')),
    'eval/tools_right_mean': sum('right') / known.length,
  };
}

function passes(groups: readonly Scored[]): NamedNumbers {
  const tries = groups.map(({ question, rewards }) => ({
    n: rewards.length,
    right: rewards.filter(({ parts }) => isRight(parts, question.ability)).length,
  }));
  const n = Math.min(...tries.map((each) => each.n));
  if (!(n > 1 && n < Number.POSITIVE_INFINITY)) return {};
  return Object.fromEntries(passSizes(n).map((k) => [`eval/pass@${k}`, meanPassAtK(tries, k)]));
}
