/** The engine: a log of topics, stages over it, and what a flow of them is. It knows no topic of a run. */
export { type Changes, type Control, followControl } from './control.ts';
export { type ControlRecord, controlTopic } from './controlTopic.ts';
export { type DeadLetter, deadLetters } from './deadLetters.ts';
export { type Feedback, feedback } from './feedback.ts';
export { type Flow, flow, type Part, type PartNames, partOf, restOf } from './flow.ts';
export { markForeignLog } from './foreignLog.ts';
export type {
  Encoded,
  From,
  Log,
  LostTopic,
  Mark,
  Only,
  ReadOptions,
  Retained,
  Retention,
  Standing,
  Stored,
  TapOptions,
  TopicStat,
  Tx,
  Unindexed,
} from './log.ts';
export { type AnyLogOptions, openAnyLog } from './openAnyLog.ts';
export { type Position, position } from './position.ts';
export { expandEach, gatherBy, gatherCount, keepIf, mapEach, type Scope } from './primitives.ts';
export { Progress } from './progress.ts';
export { RecentKeys } from './recentKeys.ts';
export { recordsOf } from './recordsOf.ts';
export {
  beside,
  type CursorItem,
  type CursorItems,
  type Cursors,
  isResumable,
  type Opening,
  type Place,
  type Resumable,
  type ResumableItem,
  type ResumableItems,
  resumable,
} from './resumable.ts';
export type { SourceItem } from './sourceItem.ts';
export { type Items, type Run, type Source, type Stage, sink, source, stage } from './stage.ts';
export type { Codec, Reference, Topic } from './topic.ts';
