/**
 * `curriculum`: the outcomes of a round's questions in, the questions worth training on out, easy → hard,
 * once the last one is there (Tool-Star §4.1: those that neither direct nor tool-integrated answers got
 * right; Tool-Light §4.6: those that direct answers got wrong).
 *
 * The questions get places in a schedule of rounds to come and go to the `questions` topic. Guarantees:
 * - the choice depends on the records and the seed alone, not on the order in which they came;
 * - where fewer than `atLeast` questions are hard, the least right of the others join them, so that a round
 *   that waits for its questions can always end.
 */
import { type OperatorFunction, pipe } from 'rxjs';
import { shuffled } from '../base/index.ts';
import type { Delivery } from '../streams/deliveries/index.ts';
import { expandEach, gatherBy } from '../streams/index.ts';
import {
  AFTER_LAST_ROUND,
  askedIn,
  type Demonstrations,
  type Phase,
  type Question,
} from '../topics/index.ts';

/** Which questions `curriculum` chooses, and the rounds in which to ask them. */
export interface CurriculumOptions {
  /** Questions of the round, all of which must arrive. */
  readonly questions: number;
  /** The phase and the rounds in which the chosen questions are asked; each round asks all of them. */
  readonly phase: Phase;
  readonly rounds: readonly number[];
  /** Minimum number of questions, if there are that many (at least 1). */
  readonly atLeast: number;
  /** Maximum number of questions; if more are hard, those closest to being right. */
  readonly atMost: number;
  readonly seed: number;
}

/** demonstrations → questions. */
export function curriculum(
  options: CurriculumOptions,
): OperatorFunction<Delivery<Demonstrations>, Delivery<Question>> {
  return pipe(
    gatherBy<Demonstrations>({
      key: ({ question }) => askedIn(question),
      size: options.questions,
      openMax: 1,
    }),
    expandEach((tried) => options.rounds.flatMap((round) => asked(tried, round, options)), {
      concurrency: 1,
      onError: 'fail',
    }),
  );
}

function asked(
  tried: readonly Demonstrations[],
  round: number,
  options: CurriculumOptions,
): Question[] {
  const { phase, seed } = options;
  const chosen = easyToHard(tried, options);
  const of = chosen.length;
  // Equals come in a different order in every round.
  return inOrder(chosen, rightShare, [seed, 'curriculum', round]).map(({ question }, index) => ({
    ...question,
    phase,
    round,
    schedule: { index, of, version: AFTER_LAST_ROUND },
  }));
}

/** The questions to train on, those closest to being right first. */
export function easyToHard(
  tried: readonly Demonstrations[],
  { atLeast, atMost, seed }: Pick<CurriculumOptions, 'atLeast' | 'atMost' | 'seed'>,
): Demonstrations[] {
  const all = inOrder(tried, rightShare, [seed, 'curriculum']);
  const hard = all.filter(({ difficulty }) => difficulty === 'hard');
  if (hard.length >= atLeast) return hard.slice(0, atMost);
  const others = all.filter(({ difficulty }) => difficulty !== 'hard');
  const missing = Math.min(atLeast, atMost) - hard.length;
  return [...others.slice(Math.max(0, others.length - missing)), ...hard];
}

/** Share of a question's trajectories with the right answer, whatever else was wrong with them. */
export function rightShare({ kept, dropped }: Demonstrations): number {
  const right = dropped.filter(({ why }) => why !== 'wrong' && !why.startsWith('failed: '));
  return (kept.length + right.length) / Math.max(1, kept.length + dropped.length);
}

/** Largest `key` first, equals in an order drawn by `draw`. */
function inOrder(
  items: readonly Demonstrations[],
  key: (item: Demonstrations) => number,
  draw: readonly [number, ...(string | number)[]],
): Demonstrations[] {
  const byId = [...items].sort((a, b) => (a.question.id < b.question.id ? -1 : 1));
  return shuffled(byId, ...draw).sort((a, b) => key(b) - key(a));
}
