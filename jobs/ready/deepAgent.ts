/**
 * DeepAgent on your policy, questions and library of functions: in one continued thought the policy
 * searches the library, calls what it found, and folds its memory; ToolPO trains it. A text model answers the
 * calls. `millrace run deep-agent --set policy=… --set questions=… --set library=functions.jsonl --set
 * simulator.url=… --set simulator.model=…`
 *
 * The auxiliary model (memories, long results) and the simulator are the policy itself unless they have a
 * server; a policy that is not a strong model is poor at both. The tools that `tools.use` names are called
 * for real; other functions that are called for real take a job file: examples/deepAgent/job.ts.
 */
import { z } from 'zod';
import {
  deepAgent,
  deepAgentPresets,
  deepAgentSettings,
  deepParts,
  defineJob,
  environmentSetting,
  librarySettings,
  notRead,
  readyParts,
  readySettings,
  roleSettings,
  toolSettingsWith,
  toolsOf,
  trainPolicy,
} from '../../api/jobs.ts';

export const deepAgentJob = defineJob({
  name: 'deep-agent',
  about: 'DeepAgent: tool search, memory folding, ToolPO.',
  settings: z
    .object(readySettings)
    .omit(notRead)
    .extend(deepAgentSettings.shape)
    .extend({
      ...librarySettings,
      tools: toolSettingsWith('none'),
      corpus: readySettings.corpus,
      searchTop: readySettings.searchTop,
      searchCharacters: readySettings.searchCharacters,
      environment: environmentSetting,
      promptMax: readySettings.promptMax.default(4096),
      responseMax: readySettings.responseMax.default(4096),
      lr: z.number().positive().default(1e-6).describe('learning rate'),
      auxiliary: roleSettings.prefault({ temperature: 0.7, topP: 0.8, topK: 20 }),
      simulator: roleSettings.prefault({ temperature: 0.2, maxTokens: 2048 }),
    }),
  presets: deepAgentPresets,

  async build(context) {
    const { questions: train, heldOutFile } = context.settings;
    const files = [{ path: train }, { path: heldOutFile }];
    const real = await toolsOf(context);
    const deep = await deepParts(context, files, real);
    const { library, listed, formOf, tools, dialectIn, bind } = deep;
    const { parts, questions, role, dialect } = await readyParts(context, { tools, dialectIn });
    bind(role, parts);
    return trainPolicy(context, parts, questions, [
      deepAgent(context.settings, { dialect, library, listed, formOf }),
    ]);
  },
});

export default deepAgentJob;
