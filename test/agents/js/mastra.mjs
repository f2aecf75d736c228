import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { DESCRIPTION, getWeather, NAME, QUESTION, SYSTEM } from './task.mjs';

const TOOL = createTool({
  id: NAME,
  description: DESCRIPTION,
  inputSchema: z.object({ n: z.number(), city: z.string() }),
  execute: async ({ context, ...given }) => getWeather(context ?? given),
});

async function run({ stream }, model) {
  const agent = new Agent({ name: 'w', instructions: SYSTEM, model, tools: { [NAME]: TOOL } });
  if (!stream) return (await agent.generate(QUESTION, { maxSteps: 6 })).text;
  return await (await agent.stream(QUESTION, { maxSteps: 6 })).text;
}

export const agents = {
  url(how) {
    const { baseUrl, key } = how;
    return run(how, { id: 'gateway/policy', url: `${baseUrl}/v1`, apiKey: key });
  },
};
