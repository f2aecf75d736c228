/** Policies on inference servers. */
export { requestSeed } from './askTokens.ts';
export type { CanaryOptions, Expected } from './canary.ts';
export {
  type CarryOptions,
  type FolderOf,
  isLabel,
  type Published,
  type Publisher,
  type Publishing,
  publishAdapter,
  publishByRoute,
  publishFromDisk,
  type Servers,
} from './publish.ts';
export {
  type OfferedFiles,
  type OfferReply,
  offer,
  PIECE_BYTES_MAX,
} from './receiverWire.ts';
export { RemoteEngine, type RemoteEngineOptions } from './remoteEngine.ts';
export { PUBLISHED_FOLDER, serverEngine, serverSettings } from './serverEngine.ts';
export type { AskOptions } from './serverPool.ts';
export type {
  AdapterWire,
  ContextMaxWire,
  Generated,
  LabelWire,
  ModelsWire,
  ReplacementWire,
  ScoreWire,
  ServerWire,
  Serving,
  WireRequest,
} from './serverWire.ts';
export { sglang } from './wires/sglang.ts';
export { vllm } from './wires/vllm.ts';
