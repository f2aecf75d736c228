/**
 * Tool-Light's Necessity of several evaluations of the same questions (§4.6), by benchmark. If a question has
 * several responses, the first counts.
 */
import type { Scored } from '../../topics/index.ts';
import { callsIn } from './callParts.ts';
import { isRight } from './headline.ts';
import { type JudgedUse, toolLightNecessity } from './toolUse.ts';

/** Of one benchmark. */
export interface Necessities {
  readonly source: string;
  /** Those that every evaluation has. */
  readonly questions: number;
  /** In the order of the evaluations; empty without a common question. */
  readonly values: readonly number[];
}

/** `evaluations[m]` = the scored groups of evaluation m. */
export function necessities(evaluations: readonly (readonly Scored[])[]): readonly Necessities[] {
  const [first = []] = evaluations;
  const uses = evaluations.map(
    (groups) => new Map(groups.map((group) => [group.question.id, useOf(group)])),
  );
  const sources = [...new Set(first.map(({ question }) => question.source))];
  return sources.map((source) => {
    const ids = first
      .filter(({ question }) => question.source === source)
      .map(({ question }) => question.id)
      .filter((id) => uses.every((known) => known.has(id)));
    const methods = uses.map((known) => ids.map((id) => known.get(id)!));
    const values = ids.length === 0 ? [] : toolLightNecessity(methods);
    return { source, questions: ids.length, values };
  });
}

function useOf({ question, rewards, toolCalls }: Scored): JudgedUse {
  const parts = rewards[0]?.parts ?? {};
  const counted = Object.values(callsIn(parts) ?? {});
  const calls = counted.length === 0 ? (toolCalls[0] ?? 0) : counted.reduce((a, b) => a + b, 0);
  const isFailed = (parts.judgeFailed ?? 0) > 0;
  const verdict = isRight(parts, question.ability) ? 'right' : isFailed ? 'failed' : 'wrong';
  return { verdict, toolCalls: calls };
}
