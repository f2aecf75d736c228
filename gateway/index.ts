/** The gateway: a policy behind the protocols of model providers, for agents that people already have. */
export {
  type AssistantMessage,
  type FunctionCall,
  type FunctionTool,
  GatewayRefusal,
  type Message,
  type ModelCall,
  type ModelReply,
  type ModelSession,
  type ModelSessions,
  type ProtocolName,
  type RefusalKind,
} from './conversation.ts';
