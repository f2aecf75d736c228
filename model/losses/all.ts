/** The losses by the names that jobs and trainers give them. */
export { cispo } from './cispo.ts';
export { clipped } from './clipped.ts';
export { dpo } from './dpo.ts';
export { gspo } from './gspo.ts';
export { sft } from './sft.ts';
