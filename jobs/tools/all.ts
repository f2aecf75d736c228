/** The tools by the names that `tools.use` gives them. */
export { browse } from './browse.ts';
export { python } from './python.ts';
export { search } from './search.ts';
