/** A run repeated from its records. */
export { type ToolMode, toolModes } from './recordedTools.ts';
export { type Beginning, type Lag, type Remade, beginnings, remake } from './remake.ts';
export { type Verified, verify } from './verify.ts';
