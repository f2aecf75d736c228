/**
 * `pairs`: the scored groups of phase `prefer` in, preference pairs out, one record per question (empty
 * if its responses do not differ enough).
 *
 * Which responses make a pair is a criterion (preferences/): Tool-Star's self-critic, Tool-Light's two
 * rounds. The texts are looked up at the positions that the group gives for its rollouts.
 */
import { type OperatorFunction, pipe } from 'rxjs';
import type { Delivery } from '../streams/deliveries/index.ts';
import { keepIf, type Log, mapEach } from '../streams/index.ts';
import { type Pairs, type Question, type Scored, topics } from '../topics/index.ts';
import type { CallTool } from './callTools.ts';
import { type Criterion, candidatesOf } from './preferences/candidate.ts';

/** How to choose pairs among a question's responses, and where to look these up. */
export interface PairsOptions {
  /** The tools of the job. */
  readonly tools: Pick<CallTool, 'tags'>;
  readonly log: Pick<Log, 'fetch'>;
  /** A criterion, or one depending on the question (its round, for example). */
  readonly criterion: (question: Question) => Criterion;
  /** Groups looked up at once. */
  readonly concurrency: number;
}

/** scored (phase `prefer`) → pairs. */
export function pairs(options: PairsOptions): OperatorFunction<Delivery<Scored>, Delivery<Pairs>> {
  return pipe(
    keepIf<Scored>(({ question }) => question.phase === 'prefer'),
    mapEach(
      async (scored): Promise<Pairs> => {
        const { question } = scored;
        const stored = await options.log.fetch(topics.rollouts, scored.rollouts);
        const rollouts = stored.map(({ value }) => value);
        const version = Math.max(...rollouts.map((rollout) => rollout.version));
        const criterion = options.criterion(question);
        return {
          question,
          ...criterion(candidatesOf(scored, rollouts), options.tools.tags),
          version,
        };
      },
      { concurrency: options.concurrency, onError: 'fail' },
    ),
  );
}
