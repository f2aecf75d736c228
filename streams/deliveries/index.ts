/** A record on its way through a stage: derived, gathered, settled exactly once. */
export { retriedMark } from './deadLetter.ts';
export type { Delivery, SideRecord } from './delivery.ts';
export { type DeliveryOwner, WaitingRecords } from './family.ts';
export { type GatherOptions, gatherBy, gatherCount } from './gatherBy.ts';
export { type EachOperator, type PipeOptions, pipeEach } from './pipeEach.ts';
export type { EachOptions, Scope } from './scope.ts';
export { deliver, emit, settlementOf } from './settlement.ts';
export { neverStopping, notNow, type StopSignals, unlessStopping } from './stopping.ts';
