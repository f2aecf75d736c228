/** How a policy writes calls and reads results. */
export { extractAnswer } from './answer.ts';
export { type CallFaults, callFaults } from './callFaults.ts';
export {
  type AskedBy,
  type Declared,
  type Dialect,
  type DialectCall,
  endTokens,
  type Part,
  type Stop,
  type Turn,
} from './dialect.ts';
export { type ChatTokenizer, encodeConversation } from './encodeConversation.ts';
export { encodeExample, type ResultTokens } from './encodeExample.ts';
export { chatFence, type Fence, type FenceMarks, fenceFor } from './fence.ts';
export { type FormatFault, formatFault } from './format.ts';
export { formatReason } from './formatReason.ts';
export { type ResultBlock, resultBlock } from './resultBlock.ts';
export { withEmptyResults } from './results.ts';
export { tagsDialect } from './tagsDialect.ts';
