/** The list of runs: `/`. */
import type { RunHead } from './common.ts';

export interface RunsData {
  readonly wire: number;
  readonly nowMs: number;
  /** Version of millrace. */
  readonly millrace: string;
  /** The folder that is watched. */
  readonly folder: string;
  /** How the program is called here (`npx millrace`): commands to copy begin with it. */
  readonly program: string;
  /** Newest first; at most 200. */
  readonly runs: readonly RunRow[];
  readonly total: number;
  /** Folders whose `run.json` cannot be read, and why; at most 20. */
  readonly unreadable: readonly { readonly name: string; readonly why: string }[];
  /** Two commands that make a run; for an empty folder. */
  readonly commands: readonly string[];
}

export interface RunRow extends RunHead {
  /**
   * Newest `reward/mean` (or, where nothing is rewarded, `loss`), its name, and at most 60 points of it.
   * Null/empty until it was read.
   */
  readonly metric: string | null;
  readonly last: number | null;
  readonly spark: readonly number[];
}
