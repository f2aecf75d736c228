/**
 * What the rest of the package, and its users, take from `streams`.
 */
export { type Clock, systemClock } from '../base/clock.ts';
export { hasCode, MillraceError, messageOf } from '../base/errors.ts';
export { avroCodec } from './contracts/codec.ts';
export { defineTopic, type TopicSpec } from './contracts/defineTopic.ts';
export * as shapes from './contracts/shapes.ts';
export { type Changes, type Control, followControl, type SettingChange } from './control.ts';
export { type DeadLetter, deadLetters } from './deadLetters.ts';
export type { Delivery, SideRecord } from './deliveries/delivery.ts';
export { notNow, type StopSignals, unlessStopping } from './deliveries/stopping.ts';
export { type EmbeddedLogOptions, openLog } from './embedded/openLog.ts';
export { type Feedback, feedback } from './feedback.ts';
export { type Flow, flow, type Part } from './flow.ts';
export type * from './log.ts';
export type { Position } from './position.ts';
export {
  type EachOperator,
  type EachOptions,
  expandEach,
  type GatherOptions,
  gatherBy,
  gatherCount,
  keepIf,
  mapEach,
  type PipeOptions,
  pipeEach,
  type Scope,
} from './primitives.ts';
export { type RecordsOptions, recordsOf } from './recordsOf.ts';
export {
  type CursorItem,
  type CursorItems,
  type Cursors,
  type Opening,
  type Place,
  type Resumable,
  type ResumableItem,
  type ResumableItems,
  resumable,
} from './resumable.ts';
export { type FlowEnd, type FlowStats, type RunOptions, runFlow } from './run/runFlow.ts';
export type { SourceStats } from './run/sourceRunner.ts';
export type { StageStats } from './run/stageStats.ts';
export {
  reportStatus,
  STATUS_MS,
  type StatusOptions,
  type StatusReporter,
  type WorkerId,
  type WorkerStatus,
} from './run/workerStatus.ts';
export {
  type Run,
  type Source,
  type SourceItem,
  type Stage,
  sink,
  source,
  stage,
} from './stage.ts';
export type { Codec, Reference, Topic } from './topic.ts';
