/**
 * What Tool-Star's cold start finds in a pool (§4.1): how hard the question is, and what is not worth
 * imitating. For `demonstrations({ find: coldStartFindings })`, whose `callsMax` is the method's β = 5.
 *
 *     answered without tools   with tools   difficulty   kept
 *     right                    any          easy         the direct answer: restraint
 *     wrong                    right        medium       tool-integrated answers
 *     wrong                    wrong        hard         nothing; the question goes on to RL (curriculum.ts)
 *
 * Several direct answers must all be right. An answer counts as tool-integrated if it calls a tool: one
 * that did without and is right where the direct one is wrong was lucky.
 */
import type { Evolved } from '../../topics/index.ts';
import type { PoolFindings } from '../demonstrations.ts';
import { blocks } from '../dialect/tags.ts';
import { strip } from '../text/characters.ts';

/** Tool-Star's classes (§4.1): right without tools, right only with tools, right in neither way. */
export type Difficulty = 'easy' | 'medium' | 'hard';

/**
 * What the cold start keeps of a question's pool: for an easy question the direct answers, for a medium one
 * those with tools, for a hard one nothing.
 */
export function coldStartFindings(
  pool: readonly Evolved[],
  tools: readonly string[],
): PoolFindings {
  const difficulty = difficultyOf(pool);
  return { difficulty, against: (evolved) => against(evolved, difficulty, tools) };
}

/** The class of a question, from all trajectories of its pool. */
export function difficultyOf(pool: readonly Evolved[]): Difficulty {
  const direct = pool.filter(isDirect);
  if (direct.length > 0 && direct.every(({ correct }) => correct)) return 'easy';
  const integrated = pool.some(
    (evolved) => !isDirect(evolved) && evolved.correct && evolved.toolCalls > 0,
  );
  return integrated ? 'medium' : 'hard';
}

function isDirect({ action }: Evolved): boolean {
  return action === 'direct';
}

function against(
  evolved: Evolved,
  difficulty: Difficulty,
  tools: readonly string[],
): string | null {
  if (isDirect(evolved)) return difficulty === 'easy' ? null : 'not always right';
  if (difficulty === 'easy') return 'no tool was needed';
  if (evolved.toolCalls === 0) return 'no call';
  return repeatsCall(evolved.text, tools) ? 'repeated call' : null;
}

/** Whether a trajectory makes the same call twice. */
export function repeatsCall(text: string, tools: readonly string[]): boolean {
  const calls = tools.flatMap((tool) =>
    blocks(text, tool).map(({ inner }) => `${tool} ${strip(inner)}`),
  );
  return new Set(calls).size < calls.length;
}
