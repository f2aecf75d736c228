/** The list of runs: `/`. */
import type { RunHead } from './common.ts';

export interface RunsData {
  readonly wire: number;
  readonly nowMs: number;
  /** Version of millrace. */
  readonly millrace: string;
  /** The folder that is watched. */
  readonly folder: string;
  /** Newest first; at most 1,000. */
  readonly runs: readonly RunRow[];
  readonly total: number;
  /** Folders whose `run.json` cannot be read, and why; at most 20. */
  readonly unreadable: readonly { readonly name: string; readonly why: string }[];
  /** Two commands that make a run; for an empty folder. */
  readonly commands: readonly string[];
  /** What serves this page. */
  readonly command: string;
}

export interface RunRow extends RunHead {
  /** Whether its log has yet to be read: the numbers follow on the stream. */
  readonly pending: boolean;
  /**
   * Of held-out questions, as measured last; null before that, and until it was read.
   */
  readonly accuracy: number | null;
  /**
   * Newest `reward/mean` (or, where nothing is rewarded, `loss`), its name, and at most 40 points of it.
   * Null/empty until it was read.
   */
  readonly metric: string | null;
  readonly last: number | null;
  readonly spark: readonly number[];
}
