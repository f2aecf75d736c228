/** The page's HTTP server: routes, tokens, streams. */
export type { Host, KnownRun } from './host.ts';
export type { Opened } from './hotRuns.ts';
export { PORT } from './listen.ts';
export { TOKEN_VARIABLE } from './secret.ts';
export { servePage, type Viewer } from './serve.ts';
