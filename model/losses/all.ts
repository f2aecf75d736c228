/** The losses by their names in jobs and trainers. */
export { cispo } from './cispo.ts';
export { clipped } from './clipped.ts';
export { dpo } from './dpo.ts';
export { gspo } from './gspo.ts';
export { sft } from './sft.ts';
