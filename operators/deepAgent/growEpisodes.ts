/**
 * The group of one question as independent episodes of one continued thought: what `rollout` grows instead of
 * branches.
 */

import type { SideRecord } from '../../streams/deliveries/index.ts';
import type { Topic } from '../../streams/index.ts';
import { type Question, topics } from '../../topics/index.ts';
import type { Grow } from '../rollout/options.ts';
import { foldRecords } from './foldRecords.ts';
import { type EpisodeOptions, growEpisode } from './growEpisode.ts';

/** Rejects only when the signal aborts; an episode that fails is a failed rollout. */
export function growEpisodes(options: EpisodeOptions): Grow {
  return async (question: Question, rollout, signal) => {
    const samples = rollout.samples(question);
    const grown = await Promise.all(
      Array.from({ length: samples }, (_, index) =>
        growEpisode({ question, index, samples, signal, rollout, options }),
      ),
    );
    const also = grown.flatMap(({ rollout: made }) =>
      foldRecords(made).map(
        (value): SideRecord => ({ topic: topics.folds as Topic<unknown>, value }),
      ),
    );
    return {
      rollouts: grown.map((one) => one.rollout),
      toolCalls: grown.flatMap((one) => one.toolCalls),
      also,
    };
  };
}
