/** Checks of a log that need to know no topic. */
export { BRING_ARCHIVE_BACK, type Examined, examine, type Laws, type Look } from './examine.ts';
export type { Finding } from './finding.ts';
