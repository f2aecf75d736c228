/** A run at a glance: `/r/RUN`. */
import type { OfRun, Shown } from './common.ts';
import type { AbsentMetric, Series } from './metrics.ts';
import type { Mill } from './mill.ts';

export interface OverviewData extends OfRun {
  /** Start the stream with `&since=RUN@CURSOR` (`;` between several runs) to miss nothing. */
  readonly cursor: string;
  /**
   * Records of `metrics` and `weights` that the server has yet to read (a very long run has just been
   * opened): curves and steps lack them.
   */
  readonly behind: number;
  readonly mill: Mill;
  /** The six curves that matter most for this job, ≤ 400 buckets each. Missing metrics are in `absent`. */
  readonly curves: readonly Series[];
  readonly absent: readonly AbsentMetric[];
  /** A few facts in display order: first the settings that are not the default. */
  readonly settings: readonly SettingRow[];
  /** A run is changed by commands: what each does, and how it is typed. */
  readonly steering: readonly { readonly about: string; readonly command: string }[];
}

export interface SettingRow {
  readonly name: string;
  readonly value: Shown;
  /** Where it was given (`--set`, a preset, a file); null = the job's default. */
  readonly from: string | null;
}
