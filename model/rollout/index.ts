/** The embedded engine: batched decoding in a worker. */
export { EmbeddedEngine } from './embeddedEngine.ts';
export { StopTexts } from './stopTexts.ts';
export { type TokenBytes, tokenBytes } from './tokenBytes.ts';
