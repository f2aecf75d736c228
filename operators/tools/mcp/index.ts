/** Tools of MCP servers. */
export { type McpPlace, type McpServer, mcpServer } from './server.ts';
export { type McpToolSpec, mcpToolSpec, specsOf } from './specs.ts';
export { mcpTool } from './tool.ts';
