/** A kind of endless questions for the setting `questions`: one file, and one line in `all.ts`. */
import type { SleepClock } from '../../base/index.ts';
import type { ArrivalRules } from './arrival.ts';
import type { EndlessQuestions } from './endlessQuestions.ts';

/** What every source gets. */
export interface SourceOptions extends ArrivalRules {
  readonly clock: SleepClock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prints a line for the user. */
  readonly print: (line: string) => void;
}

/** A kind of source. */
export interface EndlessKind {
  /** How to write the setting, for help: `listen:PORT`. */
  readonly form: string;
  /** Whether the setting is of this kind. */
  names(setting: string): boolean;
  /** The questions; they are opened when the run takes the first. Fails with `USAGE` or `QUESTIONS_FILE`. */
  open(setting: string, options: SourceOptions): EndlessQuestions;
}
