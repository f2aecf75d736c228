/** The tools by the names that `tools.use` gives them. */
export { browse } from './browse.ts';
export { processFile as process_file } from './processFile.ts';
export { python } from './python.ts';
export { search } from './search.ts';
export { visualQuestionAnswering as visual_question_answering } from './visualQuestionAnswering.ts';
