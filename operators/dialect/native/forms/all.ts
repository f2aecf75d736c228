/** The forms by name, in the order in which they are tried on a template. */
export { hermes } from './hermes.ts';
export { llama } from './llama.ts';
