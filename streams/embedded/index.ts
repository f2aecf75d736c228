/** The log in a folder (lmdb). */
export { forkLog } from './forkLog.ts';
export { type EmbeddedLogOptions, openLog } from './openLog.ts';
export { writerOf } from './writerLock.ts';
