/** Dialects that settings choose. */
export {
  callsFunctions,
  type DialectName,
  type DialectOptions,
  dialectNames,
  dialectOf,
} from './dialectOf.ts';
