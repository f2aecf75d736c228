import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import { DESCRIPTION, getWeather, NAME, QUESTION, SYSTEM } from './task.mjs';

const TOOL = tool(async (given) => getWeather(given), {
  name: NAME,
  description: DESCRIPTION,
  schema: z.object({ n: z.number(), city: z.string() }),
});

const model = ({ baseUrl, key }, more = {}) =>
  new ChatOpenAI({
    model: 'policy',
    apiKey: key,
    configuration: { baseURL: `${baseUrl}/v1` },
    ...more,
  });

async function run({ stream }, agent) {
  const input = { messages: [{ role: 'user', content: QUESTION }] };
  let state;
  if (stream) {
    const both = await agent.stream(input, { streamMode: ['messages', 'values'] });
    for await (const [mode, value] of both) if (mode === 'values') state = value;
  } else state = await agent.invoke(input);
  return state.messages.at(-1).text;
}

export const agents = {
  langgraph: (how) =>
    run(how, createReactAgent({ llm: model(how), tools: [TOOL], prompt: SYSTEM })),
  agent: (how) => run(how, createAgent({ model: model(how), tools: [TOOL], systemPrompt: SYSTEM })),
  responses(how) {
    const llm = model(how, { useResponsesApi: true });
    return run(how, createAgent({ model: llm, tools: [TOOL], systemPrompt: SYSTEM }));
  },
};
