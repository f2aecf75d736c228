/** Curves of a run, alone or with others: `/r/RUN/metrics`. */
import type { OfRun } from './common.ts';

export interface MetricsData extends OfRun {
  readonly cursor: string;
  readonly behind: number;
  /** All names that the run has, in alphabetical order. */
  readonly names: readonly MetricName[];
  readonly x: 'step' | 'time' | 'tokens';
  /**
   * The series named by `m=` (or, without it, the overview's), of this run and then of each run of `with=`.
   */
  readonly series: readonly Series[];
  readonly absent: readonly AbsentMetric[];
  /** Runs of `with=` that do not exist. */
  readonly missing: readonly string[];
}

export interface MetricName {
  readonly name: string;
  readonly values: number;
  readonly last: number | null;
  readonly lastStep: number | null;
}

/**
 * One metric in buckets of `width` steps (a power of two; bucket k holds steps k·width … (k+1)·width − 1):
 * they stay where they are as values are appended, and merge in pairs when they become too many. Columns of
 * equal length.
 */
export interface Series {
  readonly run: string;
  readonly name: string;
  readonly width: number;
  /**
   * Ascending, in the unit of `x` (steps, milliseconds since 1970, or tokens trained so far): the place of
   * the bucket's last value.
   */
  readonly x: readonly number[];
  /** First step of the bucket's values. */
  readonly step: readonly number[];
  readonly mean: readonly number[];
  readonly min: readonly number[];
  readonly max: readonly number[];
  readonly count: readonly number[];
  /**
   * Finite values in all buckets given, and in the whole series: "showing 1,600 buckets of 48,210 values".
   */
  readonly shown: number;
  readonly total: number;
  /** Values that were NaN or infinite, and the steps of the first 100. */
  readonly odd: number;
  readonly oddSteps: readonly number[];
}

/** A metric that a page would show but the run does not have, and why. */
export interface AbsentMetric {
  readonly name: string;
  /** "first batch needs 8 groups, has 3", "written by the trainer; this job has none". */
  readonly why: string;
}
