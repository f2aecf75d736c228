/** Functions as policies read them (OpenAI's form), and ToolBench's APIs as such. */
export { functionName } from './standardName.ts';
export { type RawApi, type ToolDoc, toolDoc } from './toolDoc.ts';
export type { ToolParameters } from './toolParameters.ts';
