import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { DESCRIPTION, getWeather, NAME, QUESTION, SYSTEM } from './task.mjs';

const TOOLS = {
  [NAME]: tool({
    description: DESCRIPTION,
    inputSchema: z.object({ n: z.number(), city: z.string() }),
    execute: async (given) => getWeather(given),
  }),
};

async function run({ stream }, model, providerOptions = {}) {
  const all = { model, system: SYSTEM, prompt: QUESTION, tools: TOOLS, stopWhen: stepCountIs(6) };
  if (!stream) return (await generateText({ ...all, providerOptions })).text;
  let failed;
  const onError = ({ error }) => {
    failed = error;
  };
  const streamed = streamText({ ...all, providerOptions, onError });
  await streamed.consumeStream({ onError: () => undefined });
  if (failed !== undefined) throw failed;
  return streamed.text;
}

const openAi = ({ baseUrl, key }) => createOpenAI({ baseURL: `${baseUrl}/v1`, apiKey: key });

export const agents = {
  compatible(how) {
    const { baseUrl, key } = how;
    const at = { name: 'gateway', baseURL: `${baseUrl}/v1`, apiKey: key };
    return run(how, createOpenAICompatible(at)('policy'));
  },
  openai: (how) => run(how, openAi(how)('policy')),
  openaiChat: (how) => run(how, openAi(how).chat('policy')),
  openaiUnstored(how) {
    const include = ['reasoning.encrypted_content'];
    return run(how, openAi(how)('policy'), { openai: { store: false, include } });
  },
  anthropic(how) {
    const { baseUrl, key } = how;
    return run(how, createAnthropic({ baseURL: `${baseUrl}/v1`, apiKey: key })('policy'));
  },
};
