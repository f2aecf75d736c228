/**
 * A job for the page's tests: numbered questions, each made into a trajectory after `workMs`, a reward and a
 * version of weights.
 */
import { z } from 'zod';
import { defineJob } from '../../../jobs/defineJob.ts';
import { flow } from '../../../streams/flow.ts';
import { mapEach } from '../../../streams/primitives.ts';
import { source, stage } from '../../../streams/stage.ts';
import { type Metric, type Rollout, topics, type Weights } from '../../../topics/index.ts';
import { question, rollout } from '../../cli/support/records.ts';

/** What hostile text does to a page that takes it for markup, to a reader, and to a terminal. */
export const hostile = [
  '<img src=x onerror="globalThis.owned = 1"><script>globalThis.owned = 2</script>',
  '</p><svg onload="globalThis.owned = 3">',
  '[a link](javascript:globalThis.owned=4) https://example.com/pixel.png',
  'user\u202etxt.exe \u001b[31mred\u001b[0m zero\u200bwidth \u0007',
].join('\n');

export default defineJob({
  name: 'live',
  about: 'Makes numbered questions into trajectories, rewards and weights.',
  settings: z.object({
    count: z.number().int().positive().default(5).describe('how many'),
    workMs: z.number().nonnegative().default(0).describe('time that each takes'),
  }),
  build({ settings }) {
    const items = Array.from({ length: settings.count }, (_, n) => ({
      value: question(`n-${n}`),
    }));
    const numberOf = (one: Rollout): number => Number(one.question.id.slice(2));
    const work = async (one: ReturnType<typeof question>): Promise<Rollout> => {
      await new Promise((resolve) => setTimeout(resolve, settings.workMs));
      return rollout({ question: one, text: `${one.id} says\n${hostile}` });
    };
    const measure = (one: Rollout): Metric => {
      const step = numberOf(one) + 1;
      return { name: 'reward/mean', step, round: 1, value: step / (step + 4), atMs: 1000 * step };
    };
    const train = (one: Rollout): Weights => {
      const version = numberOf(one) + 1;
      return {
        ...{ version, parent: version - 1, step: version, roundsDone: 0 },
        ...{ uri: `weights/${version}`, digest: null, bytes: 8, state: '', consumed: null },
        ...{ stateDigest: null, parentDigest: null, controls: 0 },
      };
    };
    const one = { concurrency: 1, onError: 'fail' } as const;
    return flow(
      source('numbers', topics.questions, items),
      stage('work', topics.questions, topics.rollouts, mapEach(work, one), { inflightMax: 4 }),
      stage(
        'measure',
        topics.rollouts,
        topics.metrics,
        mapEach(async (r) => measure(r), one),
      ),
      stage(
        'trainer',
        topics.rollouts,
        topics.weights,
        mapEach(async (r) => train(r), one),
      ),
    );
  },
});
