/** GGUF files, llama.cpp's format: read, never written. */
export { openGguf } from './openGguf.ts';
