/** Where two logs differ, and which records follow from which. */
export { firstDifference, recordDifference } from './difference.ts';
export { type Compared, type Divergence, divergence, type Reading } from './divergence.ts';
export { onlySettled } from './onlySettled.ts';
export { Places, upTo } from './places.ts';
export { type Difference, Retrace } from './retrace.ts';
