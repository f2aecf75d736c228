/** Agents made with Python packages. */
import { agentLaws } from './laws.ts';
import { withPython } from './support.ts';

const test = withPython();
agentLaws(test, 'openai', 'openai_sdk.py', { chat: { byKey: true }, responses: {} });
agentLaws(test, 'openai-agents', 'openai_agents.py', { responses: {}, chat: { byKey: true } });
agentLaws(test, 'anthropic', 'anthropic_sdk.py', { messages: { byKey: true }, toolRunner: {} });
agentLaws(test, 'langgraph', 'langgraph_agents.py', { langgraph: {}, agent: {}, responses: {} });
agentLaws(test, 'smolagents', 'smol.py', {
  toolCalling: { differs: 'Calling tools:', endsByCall: true },
});
