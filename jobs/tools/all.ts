/** The tools by their names in `tools.use`. */
export { browse } from './browse.ts';
export { processFile as process_file } from './processFile.ts';
export { python } from './python.ts';
export { search } from './search.ts';
export { visualQuestionAnswering as visual_question_answering } from './visualQuestionAnswering.ts';
