/** The gateway: a policy behind the protocols of model providers, for agents that people already have. */
export type { Agent, AgentTask } from './agents/agent.ts';
export { commandAgent } from './agents/command.ts';
export { type AgentFunction, functionAgent } from './agents/function.ts';
export { httpAgent } from './agents/http.ts';
export type { FunctionCall, Message } from './conversation.ts';
export { growSessions } from './growSessions.ts';
export { type RecordedSession, replaySessions } from './replaySessions.ts';
export { gatewayServer } from './server/server.ts';
export { policyChat } from './sessions/policyChat.ts';
export { Sessions } from './sessions/sessions.ts';
