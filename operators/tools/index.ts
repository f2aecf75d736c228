/** Tools: their interface, and how a call is made. */
export type { Called, ToolboxOptions } from './callTool.ts';
export { type AskHelper, helperTools } from './helperTools.ts';
export { notEmpty } from './notEmpty.ts';
export { answerCalls, type ToolReply, throughTopics, toolTopics } from './throughTopics.ts';
export {
  type CallSituation,
  pureTool,
  type Tool,
  type ToolResult,
  toolDown,
} from './tool.ts';
