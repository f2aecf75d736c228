/**
 * The job that `bench/scale.ts` splits over processes: the rollout stage of every training job, with an
 * engine whose rows all take the same time, as one on another machine would. Nothing is scored or trained.
 */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineJob } from '../../jobs/defineJob.ts';
import { policyLoop } from '../../jobs/policyLoop.ts';
import { policySettings, positiveInt } from '../../jobs/policySettings.ts';
import { advantageEstimators } from '../../model/credit/estimators.ts';
import { accuracy } from '../../operators/rewards/accuracy.ts';
import { flow } from '../../streams/flow.ts';
import { fakeTrainer } from '../../test/support/fakeTrainer.ts';
import { tinyDialect, tinyWords } from '../../test/support/tinyWords.ts';
import { fakeTools } from '../../testing/fakeTools.ts';
import { scriptedPolicy } from '../../testing/scriptedPolicy.ts';
import type { Question } from '../../topics/index.ts';
import { pause } from '../table.ts';

const settings = policySettings.extend({
  questions: positiveInt.default(100),
  rollouts: positiveInt.default(4),
  serviceMs: positiveInt
    .default(200)
    .describe('a request to the engine takes so long, however many there are'),
});

export default defineJob({
  name: 'scale',
  about: 'Rolls questions out with an engine that takes a fixed time.',
  settings,
  async build(context) {
    const { questions, rollouts, serviceMs } = context.settings;
    const base = join(context.folder, 'base.safetensors');
    if (!existsSync(base)) await writeFile(base, 'base weights');
    const engine = scriptedPolicy({
      tokenizer: tinyWords,
      script: ({ context: said }) =>
        said.includes('</search>') ? '<answer>7</answer><|end|>' : 'one one<search>two</search>',
      delay: () => pause(serviceMs),
    });
    const items = Array.from({ length: questions }, (_, index) => ({ value: question(index) }));
    const parts = {
      engine,
      base,
      trainer: fakeTrainer({}),
      tools: fakeTools({ answers: { search: (query) => query } }),
      dialect: tinyDialect(['search']),
    };
    const rounds = ['the base policy', 'round 1'];
    const sizes = [0, items.length];
    const plan = { rounds, endless: false, sizes, items, heldOut: 1, train: 0 };
    const options = {
      samples: () => rollouts,
      branching: () => null,
      reward: accuracy(),
      advantage: advantageEstimators.grpo.group,
      training: { losses: {}, miniBatches: 1 },
      rates: {},
      batchGroups: 1,
      window: 1,
    };
    const { begun, rolled, trained } = await policyLoop(context, parts, plan, options);
    return flow(begun, rolled, trained); // the trainer closes the loop that tells of weights
  },
});

function question(index: number): Question {
  return {
    id: `q${index}`,
    question: 'What is 7?',
    answers: ['7'],
    source: 'bench',
    ability: 'math',
    phase: 'explore',
    round: 1,
    schedule: null,
  };
}
