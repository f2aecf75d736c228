/** Dialects that settings choose. */
export {
  callsFunctions,
  type DialectName,
  type DialectOptions,
  dialectNames,
  dialectOf,
} from './dialectOf.ts';
export { namedPrompts } from './namedPrompts.ts';
