/** The gateway: serves the policy in the protocols of model providers, to agents that already exist. */
export type { Agent, AgentTask } from './agents/agent.ts';
export { commandAgent } from './agents/command.ts';
export { type AgentFunction, functionAgent } from './agents/function.ts';
export { httpAgent } from './agents/http.ts';
export type { FunctionCall, Message } from './conversation.ts';
export { watchExactness } from './exactness.ts';
export { type AgentMcp, growSessions } from './growSessions.ts';
export { again, type RecordedSession, replaySessions } from './replaySessions.ts';
export { REMEMBERED } from './served/feedbackWriter.ts';
export { servedFeedback } from './served/servedFeedback.ts';
export { servedInflight, servedRollouts } from './served/servedRollouts.ts';
export { ServedSessions } from './served/servedSessions.ts';
export { SessionKeys } from './served/sessionKeys.ts';
export { gatewayServer } from './server/server.ts';
export { policyChat } from './sessions/policyChat.ts';
export { Sessions } from './sessions/sessions.ts';
export { httpVerifier, type Verifier, verifierForms } from './verifier/verifier.ts';
