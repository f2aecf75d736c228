/** A run repeated from its records. */
export { type ToolMode, toolModes } from './recordedTools.ts';
export { type Beginning, beginnings, type Lag, type Remade, remake } from './remake.ts';
export { type Verified, verify } from './verify.ts';
