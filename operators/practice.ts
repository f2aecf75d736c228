/**
 * `practice`: the Pareto verdicts in, the questions to train on out.
 *
 * A kept question is rolled out afresh, in phase `practice`, with its place in the round's schedule; the
 * others end here (ET-Agent's curriculum: direct rollouts choose the round's questions, RL rolls them out
 * again).
 */
import { type OperatorFunction, pipe } from 'rxjs';
import type { Delivery } from '../streams/deliveries/index.ts';
import { keepIf, mapEach } from '../streams/index.ts';
import type { Question, Selected } from '../topics/index.ts';

/** selected → questions of phase `practice`. */
export function practice(): OperatorFunction<Delivery<Selected>, Delivery<Question>> {
  return pipe(
    keepIf<Selected>((selected) => selected.kept),
    mapEach(practised, { concurrency: 1 }),
  );
}

/** The question of a kept group to be asked again, with its place in the round. */
export function practised({ question, index, of, version }: Selected): Question {
  return { ...question, phase: 'practice', schedule: { index, of, version } };
}
