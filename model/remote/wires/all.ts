/** The servers by their names in settings. */
export { sglang } from './sglang.ts';
export { vllm } from './vllm.ts';
