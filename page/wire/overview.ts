/** A run at a glance: `/r/RUN`. */
import type { OfRun, Shown } from './common.ts';
import type { AbsentMetric, Series } from './metrics.ts';
import type { Mill } from './mill.ts';

export interface OverviewData extends OfRun {
  /** Of the stream: begin it with `&since=RUN@CURSOR` (`;` between several runs) to miss nothing. */
  readonly cursor: string;
  /**
   * Records of `metrics` and `weights` that the server has still to read (a very long run was opened just
   * now): curves and steps lack them.
   */
  readonly behind: number;
  readonly mill: Mill;
  /** The six curves that matter most for this job, ≤ 400 buckets each. Absent metrics are in `absent`. */
  readonly curves: readonly Series[];
  readonly absent: readonly AbsentMetric[];
  /** A few facts to show in order: settings that are not the default, first. */
  readonly settings: readonly SettingRow[];
  /** What changes a run is a command: what each does, and how it is typed. */
  readonly steering: readonly { readonly about: string; readonly command: string }[];
}

export interface SettingRow {
  readonly name: string;
  readonly value: Shown;
  /** Where it was given (`--set`, a preset, a file); null = the job's default. */
  readonly from: string | null;
}
