/**
 * The topics of a run: what Millrace writes through the streams engine. Other rooms import this file alone.
 *
 * A topic is one file: shape, key, version, what makes a record the same in another run, what it refers to,
 * how it is shown.
 */
export * from './all.ts';
export type { RunTopic } from './defineRunTopic.ts';
export { examineRun, Invariants, type Origin } from './invariants.ts';
export type { RowLink } from './links.ts';
export * from './schedule.ts';
