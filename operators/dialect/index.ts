/** How a policy writes calls and reads results. */
export { type CallFaults, callFaults } from './callFaults.ts';
export { type AskedBy, type Declared, type Dialect, type DialectCall, type Part, type Stop, type Turn, endTokens } from './dialect.ts';
export { type ChatTokenizer, encodeConversation } from './encodeConversation.ts';
export { type ResultTokens, encodeExample } from './encodeExample.ts';
export { type Fence, type FenceMarks, chatFence, fenceFor } from './fence.ts';
export { type FormatFault, formatFault } from './format.ts';
export { type ResultBlock, resultBlock } from './resultBlock.ts';
export { tagsDialect } from './tagsDialect.ts';
