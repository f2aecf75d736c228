/**
 * Tool-Star in the quickstart's world: cold start, RL on what is hard, self-critic. `npx millrace run
 * examples/toolStar/job.ts` runs it.
 *
 * The small policy has one kind of prompt, the question; without tools it answers because it is stopped
 * before it calls one. `--set loops=2` trains two rounds, `--set criticQuestions=0` leaves the self-critic
 * out; `--set questions=FILE` trains on another CSV, JSONL or Parquet file.
 */

import { defineJob, toolStar, toolStarSettings, trainPolicy } from 'millrace';
import { policyRole } from 'millrace/jobs';
import type { ColdStartHints } from 'millrace/operators';
import { hints as again } from '../quickstart/critic.ts';
import { worldParts, worldSettings } from '../quickstart/parts.ts';

/** In words that the policy has tokens for. */
const hints: ColdStartHints = { verify: again, reflect: again, uncertain: ['I think'] };

export default defineJob({
  name: 'toolStar',
  about: 'Teaches the quickstart’s policy when to use tools: cold start, RL, self-critic.',
  settings: toolStarSettings.extend(worldSettings),

  async build(context) {
    const { settings } = context;
    const { rows, parts } = await worldParts(context);
    const policy = policyRole(settings);
    return trainPolicy(context, parts, rows, [toolStar(settings, { policy, hints })]);
  },
});
