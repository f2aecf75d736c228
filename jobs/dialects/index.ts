/** Dialects that settings choose. */
export {
  callsFunctions,
  type DialectName,
  type DialectOptions,
  dialectNames,
  dialectOf,
} from './dialectOf.ts';
export { type NamedPrompt, namedPrompts, releasedPrompt } from './namedPrompts.ts';
