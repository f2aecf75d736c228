/** How an evaluation grades each of its sets, reported before it begins. */
import type { Question } from '../../../topics/index.ts';
import { isJudgedSet } from '../headline.ts';
import { type GraderName, graderOf } from './graderOf.ts';

/** A line for each way of grading, with its sets. */
export function gradingLines(
  questions: Iterable<Pick<Question, 'ability' | 'source' | 'answers'>>,
  { grader, judge }: { readonly grader: GraderName; readonly judge: string | null },
): readonly string[] {
  const sets = new Map<string, string>();
  for (const { source, ability, answers } of questions) {
    // Its calls or its environment say more than its answer.
    if (answers.length === 0 || sets.has(source)) continue;
    sets.set(source, wayOf(source, ability === 'math', grader, judge));
  }
  const ways = new Map<string, string[]>();
  for (const [source, way] of sets) ways.set(way, [...(ways.get(way) ?? []), source]);
  return [...ways].map(([way, sources]) => `${sources.join(', ')}: graded by ${way}`);
}

function wayOf(source: string, isMath: boolean, name: GraderName, judge: string | null): string {
  const grader = graderOf(name, source);
  if ('decide' in grader) return `${grader.way} (--grader ${name})`;
  if (judge === null) {
    if (isMath) return 'equality';
    return isJudgedSet(source)
      ? 'shared words (F1), because there is no judge; the papers report a judge’s verdict (--judge URL)'
      : 'shared words (F1)';
  }
  if (!isMath && !isJudgedSet(source)) return 'shared words (F1)';
  const first = grader.first === null ? '' : `${grader.first}, then `;
  return `${first}the judge ${judge}, ${grader.way} (--grader ${name})`;
}
