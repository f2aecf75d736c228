/** Dialects that settings choose. */
export { type DialectName, type DialectOptions, callsFunctions, dialectNames, dialectOf } from './dialectOf.ts';
