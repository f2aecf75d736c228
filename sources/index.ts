/** Questions and data sets from files. */
export { conversationForms } from './conversationForms.ts';
export { type ConversationItem, conversationFiles, readConversations } from './conversations.ts';
export type { ConversationFile } from './datasetInfo.ts';
export { findDataset, readDataset } from './datasets.ts';
export { openRows } from './openRows.ts';
export type { QuestionRow } from './questionRow.ts';
export { type QuestionItem, readQuestions } from './questions.ts';
