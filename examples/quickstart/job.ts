/**
 * The quickstart: a small policy with bad habits learns to stop wasting tool calls. `npm start` runs it.
 *
 * The whole method in one job: the flywheel evolves trajectories, the policy is fine-tuned on the good ones, and three
 * rounds of calibration follow. An invented world is written to the run folder (corpus, training and held-out questions);
 * the base policy was never shown this world. `--set flywheel.questions=0` begins with the calibration;
 * `--set questions=FILE` trains on another CSV, JSONL or Parquet file. `--set critic.url=…` asks a model on a server instead of
 * the scripted critic.
 */

import { join } from 'node:path';
import {
  calibrate,
  calibrateSettings,
  configuredTextModel,
  defineJob,
  finetune,
  finetuneSettings,
  flywheel,
  flywheelSettings,
  type PolicyParts,
  scripted,
  sleepClock,
  textModelSettings,
  trainPolicy,
} from 'millrace';
import { role } from 'millrace/jobs';
import { openReplies, samplingOf } from 'millrace/model';
import { z } from 'zod';
import { hints, worldCritic } from './critic.ts';
import { policyRole, worldParts, worldSettings } from './parts.ts';
import { trainingTasks } from './world/files.ts';

export default defineJob({
  name: 'quickstart',
  about:
    'Teaches a small policy good tool use in an invented world: flywheel, fine-tuning, calibration.',
  settings: calibrateSettings.extend({
    flywheel: flywheelSettings.prefault({}),
    finetune: finetuneSettings.prefault({}),
    critic: textModelSettings.prefault({}),
    mixedOnly: z
      .boolean()
      .default(false)
      .describe(calibrateSettings.shape.mixedOnly.description ?? ''),
    ...worldSettings,
  }),

  async build(context) {
    const { settings, folder, seed, clock, own } = context;
    const { rows, parts } = await worldParts(context);
    // The scripted critic knows the world's questions alone.
    const teachable = settings.questions === '' || settings.critic.url !== '';
    const evolve = teachable ? settings.flywheel.questions : 0;
    const calibrating = calibrate(settings);
    if (evolve === 0) return trainPolicy(context, parts, rows, [calibrating]);

    const policyOf = policyRole(settings);
    const teacher = configuredTextModel(settings.critic, {
      own: () => scripted(worldCritic(trainingTasks(seed))),
      clock: sleepClock(clock),
      replies: own(openReplies(join(folder, 'replies.mdb'))),
      report: context.print,
    });
    const critic = role(own(teacher), samplingOf(settings.critic));
    const models = (live: PolicyParts) => ({ policy: policyOf(live), analyst: critic, critic });
    return trainPolicy(context, parts, rows, [
      flywheel(settings.flywheel, { models, hints }),
      finetune(settings.finetune),
      calibrating,
    ]);
  },
});
