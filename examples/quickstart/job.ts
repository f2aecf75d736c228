/**
 * The quickstart: a small policy with bad habits learns to stop wasting tool calls. `npm start` runs it.
 *
 * The ready job et-agent with parts of its own: an invented world is written to the run folder (corpus,
 * training and held-out questions), the base policy was never shown this world, and the flywheel's critic is
 * a script that knows it. `--set flywheel.questions=0` begins with the calibration; `--set questions=FILE`
 * trains on another CSV, JSONL or Parquet file; `--set critic.url=…` asks a model on a server instead of the
 * scripted critic.
 */
import {
  calibrateSettings,
  defineJob,
  etAgent,
  etAgentSettings,
  scripted,
  textModelSettings,
  trainPolicy,
} from 'millrace';
import { textRoles } from 'millrace/jobs';
import { z } from 'zod';
import { hints, worldCritic } from './critic.ts';
import { worldParts, worldSettings } from './parts.ts';
import { trainingTasks } from './world/files.ts';
import { worlds } from './world/worlds.ts';

export default defineJob({
  name: 'quickstart',
  about:
    'Teaches a small policy to use tools well in an invented world: flywheel, fine-tuning, calibration.',
  settings: etAgentSettings.extend({
    critic: textModelSettings.prefault({}),
    mixedOnly: z
      .boolean()
      .default(false)
      .describe(calibrateSettings.shape.mixedOnly.description ?? ''),
    ...worldSettings,
  }),

  async build(context) {
    const { settings, seed } = context;
    const { rows, parts } = await worldParts(context);
    // The scripted critic knows only the world's questions.
    const teachable = settings.questions === '' || settings.critic.url !== '';
    const questions = teachable ? settings.flywheel.questions : 0;
    const flywheel = { ...settings.flywheel, questions };
    const knowing = () => scripted(worldCritic(trainingTasks(seed, worlds[settings.world])));
    const critic = textRoles(context)(settings.critic, knowing);
    const roles = { analyst: () => critic, critic: () => critic, hints };
    return trainPolicy(context, parts, rows, etAgent({ ...settings, flywheel }, roles));
  },
});
