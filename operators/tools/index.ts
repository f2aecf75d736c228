/** Tools: their interface, and how a call is made. */
export type { Called, ToolboxOptions } from './callTool.ts';
export { answerCalls, throughTopics, toolTopics } from './throughTopics.ts';
export { type CallSituation, type Tool, type ToolParameters, type ToolResult, pureTool, toolDown } from './tool.ts';
