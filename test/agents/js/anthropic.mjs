import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { z } from 'zod';
import { DESCRIPTION, getWeather, NAME, PARAMETERS, QUESTION, SYSTEM } from './task.mjs';

const client = ({ baseUrl, key }) => new Anthropic({ baseURL: baseUrl, apiKey: key });
const text = ({ content }) =>
  content
    .filter(({ type }) => type === 'text')
    .map((block) => block.text)
    .join('');

async function messages(how) {
  const { messages } = client(how);
  const tools = [{ name: NAME, description: DESCRIPTION, input_schema: PARAMETERS }];
  const list = [{ role: 'user', content: QUESTION }];
  for (;;) {
    const body = { model: 'policy', max_tokens: 512, system: SYSTEM, tools, messages: list };
    const message = how.stream
      ? await messages.stream(body).finalMessage()
      : await messages.create(body);
    list.push({ role: 'assistant', content: message.content });
    const uses = message.content.filter(({ type }) => type === 'tool_use');
    if (uses.length === 0) return text(message);
    const content = uses.map(({ id, input }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: getWeather(input),
    }));
    list.push({ role: 'user', content });
  }
}

async function toolRunner(how) {
  const weather = betaZodTool({
    name: NAME,
    description: DESCRIPTION,
    inputSchema: z.object({ city: z.string(), n: z.number() }),
    run: async (given) => getWeather(given),
  });
  const runner = client(how).beta.messages.toolRunner({
    model: 'policy',
    max_tokens: 512,
    system: SYSTEM,
    stream: how.stream,
    messages: [{ role: 'user', content: QUESTION }],
    tools: [weather],
  });
  let last;
  for await (const one of runner) last = how.stream ? await one.finalMessage() : one;
  return text(last);
}

export const agents = { messages, toolRunner };
