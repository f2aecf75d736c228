/** The embedded engine: batched decoding in a worker. */
export { cacheBytes, EmbeddedEngine, ROWS } from './embeddedEngine.ts';
export { StopTexts } from './stopTexts.ts';
export { type TokenBytes, tokenBytes } from './tokenBytes.ts';
