/** What the function inside a primitive gets besides its value, and how the primitive calls it. */
import type { Position } from '../position.ts';
import type { Topic } from '../topic.ts';
import type { StopSignals } from './stopping.ts';

/** What a domain function may do besides returning its value. */
export interface Scope extends StopSignals {
  /** Place of its record. */
  readonly topic: string;
  readonly position: Position;
  readonly key: string;
  /** Append a side record (tool call, metric, dead letter) in the commit of what this call returns. */
  also<T>(topic: Topic<T>, value: T): void;
}

/**
 * How a primitive calls its function: how many calls at once, and whether an error of one call becomes a dead
 * letter of its record (`deadLetter`, the default) or ends the stage (`fail`).
 */
export interface EachOptions {
  /** Most calls that run at once. Results come in the order in which they are finished. */
  readonly concurrency: number;
  readonly onError?: 'deadLetter' | 'fail';
}
