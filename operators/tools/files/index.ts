/** Files of questions: their text, and what a model sees in them. */
export { attachmentsIn, type ReadAttachment } from './attachments.ts';
export { FILE, fileTool } from './fileTool.ts';
export { VISION, visionTool } from './visionTool.ts';
