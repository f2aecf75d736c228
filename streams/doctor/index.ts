/** Checks of a log that need to know no topic. */
export { BRING_ARCHIVE_BACK, type Examined, type Laws, type Look, examine } from './examine.ts';
export type { Finding } from './finding.ts';
