/**
 * A batch of any kind in the trainer's form: the sequences of its optimiser steps.
 *
 * One file per kind says how records become sequences; the trainer knows sequences only.
 */
import type { TrainSequence } from '../../model/index.ts';

export interface PreparedBatch {
  /** The sequences of each optimiser step. An empty step is skipped. */
  readonly steps: BatchSteps;
  /** Numbers that describe it, by their names in docs/metrics.md. */
  readonly numbers: Readonly<Record<string, number>>;
}

export type BatchSteps = readonly (readonly BatchSequence[])[];

export interface BatchSequence {
  readonly sequence: TrainSequence;
  /** Whether a version older than the step's start wrote some of it. */
  readonly lags: boolean;
}

/** 0 if there are no values. */
export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
