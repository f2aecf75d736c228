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
  calibration,
  configuredTextModel,
  defineJob,
  fineTuned,
  finetune,
  finetuneSettings,
  flow,
  flywheel,
  flywheelSettings,
  openReplies,
  planQuestions,
  policyLoop,
  role,
  samplingOf,
  scripted,
  sleepClock,
  textModelSettings,
} from 'millrace';
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
    const plan = await planQuestions(rows, { ...settings, evolve, seed });
    const method = fineTuned(calibration(settings, plan), settings.finetune);
    const loop = await policyLoop(context, { ...parts, plan }, method);
    const calibrating = calibrate(loop, plan, settings);
    if (evolve === 0) return calibrating;

    const policy = policyRole(loop.parts, settings);
    const teacher = configuredTextModel(settings.critic, {
      own: () => scripted(worldCritic(trainingTasks(seed))),
      clock: sleepClock(clock),
      replies: own(openReplies(join(folder, 'replies.mdb'))),
      report: context.print,
    });
    const critic = role(own(teacher), samplingOf(settings.critic));
    return flow(
      flywheel(loop, settings.flywheel, {
        models: { policy, analyst: critic, critic },
        hints,
      }),
      finetune(loop, plan.evolve, settings.finetune),
      calibrating,
    );
  },
});
