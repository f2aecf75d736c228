/**
 * What counts as right, read from the parts of a reward.
 *
 * A benchmark's headline number in the papers' tables (ET-Agent §9.5, ARPO §6.4 and §6.6) is the judge's
 * verdict for mathematics (LaTeX equality without a judge) and for deep search, and word F1 for other
 * knowledge and, without a judge, for all of it. A question with a task (gold calls, an environment) has the
 * success that its task defines. A reward not made for a benchmark has only `raw`.
 */
import type { Ability, Question, Reward } from '../../topics/index.ts';

type Parts = Reward['parts'];
/** What decides by which number a question counts. */
type Asked = Pick<Question, 'ability' | 'source'>;

/** Sets of knowledge that the papers report by a judge's verdict. */
const judgedSets = ['gaia', 'hle', 'webwalker', 'xbench', 'simpleqa'];

/** Whether the papers' tables have a judge's verdict for this set of knowledge. */
export function isJudgedSet(source: string): boolean {
  return judgedSets.includes(source);
}

/** Which number the headline is. */
export type Measure = 'judge' | 'equality' | 'f1' | 'reward' | 'task';

export function measureOf(parts: Parts, { ability, source }: Asked): Measure {
  if (parts.success !== undefined) return 'task';
  if (parts.mathEqual === undefined) return 'reward';
  if (ability === 'qa') return parts.judged !== undefined && isJudgedSet(source) ? 'judge' : 'f1';
  return parts.judged === undefined ? 'equality' : 'judge';
}

/** 0 to 1. */
export function headline(parts: Parts, asked: Asked): number {
  switch (measureOf(parts, asked)) {
    case 'judge':
      return parts.judged!;
    case 'equality':
      return parts.mathEqual!;
    case 'f1':
      return parts.f1 ?? 0;
    case 'task':
      return parts.success!;
    case 'reward':
      return parts.raw ?? 0;
  }
}

/** Whether a response is right as a whole, for pass@k: by the judge, otherwise exactly. */
export function isRight(parts: Parts, ability: Ability): boolean {
  if (parts.success !== undefined) return parts.success >= 1;
  if (parts.judged !== undefined) return parts.judged > 0;
  const whole = ability === 'math' ? parts.mathEqual : parts.exact;
  return (whole ?? parts.raw ?? 0) >= 1;
}
