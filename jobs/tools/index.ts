/** Tools that settings choose. */
export { imagesFolder } from './attachmentsOf.ts';
export { corpusRows } from './corpusRows.ts';
export { filesSettings, visionSettings } from './filesSettings.ts';
export { MCP_FILE } from './mcpTools.ts';
export { pythonSettings } from './pythonOf.ts';
export { type RetrieverPlace, retrieverAt } from './retrieverAt.ts';
export { toolNames, toolSettings, toolSettingsWith } from './toolSettings.ts';
export { toolsOf } from './toolsOf.ts';
