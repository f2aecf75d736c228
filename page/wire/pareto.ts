/** Judged groups by two objectives: `/r/RUN/pareto`. */
import type { OfRun } from './common.ts';

export type ParetoAxis =
  | 'calls'
  | 'correct'
  | 'reward'
  | 'length'
  | 'spreadCalls'
  | 'spreadCorrect';

export interface ParetoData extends OfRun {
  /** The round that is shown, and all that exist. */
  readonly round: number | null;
  readonly rounds: readonly { readonly round: number; readonly name: string }[];
  readonly x: ParetoAxis;
  readonly y: ParetoAxis;
  readonly axes: readonly { readonly name: ParetoAxis; readonly about: string }[];
  /** Columns would be smaller; 8,000 rows like these are 1 MB. */
  readonly points: readonly ParetoPoint[];
  readonly shown: number;
  readonly total: number;
  /** By verdict: `selected`, `dominated`, `crowded`, `uniform`, … */
  readonly verdicts: Readonly<Record<string, number>>;
  /** Why there is none, if so. */
  readonly why: string;
}

export interface ParetoPoint {
  readonly question: string;
  /** The places of the verdict in `selected` and of the group in `scored`. */
  readonly ref: string;
  readonly scored: string;
  readonly x: number;
  readonly y: number;
  /** 0 = the best. */
  readonly front: number;
  readonly kept: boolean;
  readonly verdict: string;
  /** Crowding distance; null if it was not computed, -1 for infinite. */
  readonly distance: number | null;
  /** Means over the group. */
  readonly correct: number | null;
  readonly calls: number | null;
  readonly reward: number | null;
}
