/** The list of runs: `/`. */
import type { RunHead } from './common.ts';

export interface RunsData {
  readonly wire: number;
  readonly nowMs: number;
  /** The version of millrace. */
  readonly millrace: string;
  /** The folder that is watched. */
  readonly folder: string;
  /** Newest first; at most 1,000. */
  readonly runs: readonly RunRow[];
  readonly total: number;
  /** Folders whose `run.json` cannot be read, and why; at most 20. */
  readonly unreadable: readonly { readonly name: string; readonly why: string }[];
  /** Two commands that start a run; for an empty folder. */
  readonly commands: readonly string[];
  /** What serves this page. */
  readonly command: string;
}

export interface RunRow extends RunHead {
  /** Whether its log has yet to be read: the numbers then follow on the stream. */
  readonly pending: boolean;
  /** On held-out questions, as measured last; null before that, and until the log was read. */
  readonly accuracy: number | null;
  /**
   * The newest `reward/mean` (or `loss`, where nothing is rewarded), its name, and at most 40 of its points.
   * Null/empty until the log was read.
   */
  readonly metric: string | null;
  readonly last: number | null;
  readonly spark: readonly number[];
}
