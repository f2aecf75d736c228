/** The index by key of the embedded log. */
export { indexLog } from './indexLog.ts';
export { type IndexFault, KeyCheck } from './keyCheck.ts';
