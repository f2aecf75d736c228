/** What the cold start keeps, and its hints. */
export { coldStartFindings } from './findings.ts';
export { allHints, type ColdStartHints, coldStartHints } from './hints.ts';
export { afterExamples, openedCall } from './openings.ts';
export { type ColdStartOptions, coldStartPool } from './pool.ts';
