/**
 * What counts as right, read from the parts of a reward.
 *
 * A benchmark's headline number (ET-Agent §9.5) is the judge's verdict for mathematics (LaTeX equality where
 * there was no judge) and word F1 for knowledge. A question with a task (gold calls, an environment) has the
 * success that its task says. A reward that was not made for a benchmark has only `raw`.
 */
import type { Ability, Reward } from '../../topics/index.ts';

type Parts = Reward['parts'];

/** Which number the headline is. */
export type Measure = 'judge' | 'equality' | 'f1' | 'reward' | 'task';

export function measureOf(parts: Parts, ability: Ability): Measure {
  if (parts.success !== undefined) return 'task';
  if (parts.mathEqual === undefined) return 'reward';
  if (ability === 'qa') return 'f1';
  return parts.judged === undefined ? 'equality' : 'judge';
}

/** 0 to 1. */
export function headline(parts: Parts, ability: Ability): number {
  switch (measureOf(parts, ability)) {
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

/** Whether a response is right as a whole, for pass@k: by the judge, else exactly. */
export function isRight(parts: Parts, ability: Ability): boolean {
  if (parts.success !== undefined) return parts.success >= 1;
  if (parts.judged !== undefined) return parts.judged > 0;
  const whole = ability === 'math' ? parts.mathEqual : parts.exact;
  return (whole ?? parts.raw ?? 0) >= 1;
}
