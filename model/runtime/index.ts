/** ONNX Runtime: sessions, execution providers, memory. */
export { type LoopGap, watchLoop } from './loopGap.ts';
export { type Provider, providers } from './provider.ts';
export type { Feed, Feeds } from './session.ts';
