/**
 * RL of the policy behind your agent: a program or a service, in any framework, that asks a model
 * through the protocols of OpenAI or Anthropic. `millrace run agent --set agent.command='node my-agent.mjs'
 * --set policy=… --set questions=…`
 *
 * The agent keeps its prompts, tools and memory. Its reward is whether its last message has the answer,
 * unless it posts a reward itself (docs/agents.md).
 */
import { z } from 'zod';
import {
  agentSettings,
  agents,
  checkAgentQuestions,
  defineJob,
  dialectOf,
  everyQuestion,
  everyQuestionSettings,
  lrIdle,
  mayChange,
  notRead,
  readyParts,
  readySettings,
  trainPolicy,
  trainServed,
} from '../../api/jobs.ts';

const { shape } = everyQuestionSettings;

export const agentJob = defineJob({
  name: 'agent',
  about: 'RL of the policy behind your own agent, in any framework.',
  settings: z
    .object(readySettings)
    .omit(notRead)
    .extend(shape)
    .extend({
      agent: agentSettings.prefault({}),
      questions: z
        .string()
        .default('')
        .describe(`${readySettings.questions.description}; not with agent.serve`),
      promptMax: readySettings.promptMax.default(4096),
      responseMax: readySettings.responseMax.default(4096),
      branching: shape.branching.default('none'),
      reward: shape.reward.default('accuracy'),
      lr: mayChange(z.number().positive().default(1e-6).describe('learning rate'), lrIdle),
    }),

  async build(context) {
    const { agent } = context.settings;
    checkAgentQuestions(context.settings);
    const { parts, questions } = await readyParts(context, {
      tools: [],
      worlds: agent.rewardForm === 'nemo-gym',
      unanswered: true,
      dialectIn: (folder) => dialectOf({ name: 'native', folder, tools: [] }),
    });
    if (agent.serve) return trainServed(context, parts);
    const grown = await agents(context);
    return trainPolicy(context, parts, questions, [everyQuestion(context.settings, grown)]);
  },
});

export default agentJob;
