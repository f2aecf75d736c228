import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';
import { DESCRIPTION, getWeather, NAME, QUESTION, SYSTEM } from './task.mjs';

setTracingDisabled(true);

async function run({ baseUrl, key, stream }, useResponses) {
  const weather = tool({
    name: NAME,
    description: DESCRIPTION,
    parameters: z.object({ city: z.string(), n: z.number() }),
    execute: async (given) => getWeather(given),
  });
  const agent = new Agent({ name: 'w', instructions: SYSTEM, model: 'policy', tools: [weather] });
  const at = { baseURL: `${baseUrl}/v1`, apiKey: key, useResponses };
  const runner = new Runner({ modelProvider: new OpenAIProvider(at) });
  if (!stream) return (await runner.run(agent, QUESTION)).finalOutput;
  const streamed = await runner.run(agent, QUESTION, { stream: true });
  await streamed.completed;
  return streamed.finalOutput;
}

export const agents = {
  responses: (how) => run(how, true),
  chat: (how) => run(how, false),
};
