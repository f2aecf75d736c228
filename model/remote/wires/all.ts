/** The servers by the names that settings give them. */
export { sglang } from './sglang.ts';
export { vllm } from './vllm.ts';
