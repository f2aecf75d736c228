/** Chat templates as text, without an engine. */
export { type ChatSegment, chatSegments } from './chatSegments.ts';
export type { ChatContentPart, ChatMessage, ChatOptions, ChatToolCall } from './chatTemplate.ts';
export {
  type CallArgumentsForm,
  type ChatDifference,
  type ChatTokenizer,
  chatDifference,
  checkChatTools,
  type GrowOptions,
  growChat,
} from './grownChat.ts';
