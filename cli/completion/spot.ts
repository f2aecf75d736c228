/** Where the cursor of a command line is, and what may come next there. */
import type { Command, Option } from 'commander';

export interface Candidate {
  readonly word: string;
  /** May be empty. */
  readonly about: string;
}

/** Where the cursor is. */
export interface Spot {
  readonly command: Command;
  /** The option whose value comes next. */
  readonly option: Option | null;
  /** The command's arguments so far. */
  readonly given: readonly string[];
  /** Values of its options so far, by their long flags. */
  readonly set: Readonly<Record<string, string>>;
  /** The beginning of the word. */
  readonly typed: string;
  readonly cwd: string;
}
