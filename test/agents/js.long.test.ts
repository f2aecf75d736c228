/** Agents made with JavaScript packages. */
import { agentLaws } from './laws.ts';
import { withPackages } from './support.ts';

const test = withPackages();
agentLaws(test, 'openai', 'openai.mjs', {
  chat: { byKey: true },
  runTools: {},
  responses: {},
  previousResponse: { byKey: true },
});
agentLaws(test, 'ai', 'ai.mjs', {
  compatible: {},
  openai: {},
  openaiChat: { byKey: true },
  openaiUnstored: {},
  anthropic: { byKey: true },
});
agentLaws(test, 'langchain', 'langchain.mjs', { langgraph: {}, agent: {}, responses: {} });
agentLaws(test, 'mastra', 'mastra.mjs', {
  url: { joins: true, differsInStream: 'calls has 3 items, had 1', hidesErrors: true },
});
agentLaws(test, 'openai-agents', 'openaiAgents.mjs', { responses: {}, chat: { byKey: true } });
agentLaws(test, 'anthropic', 'anthropic.mjs', { messages: { byKey: true }, toolRunner: {} });
