/** What a run has achieved so far: `/r/RUN/results`. Texts and tables are those of `millrace report`. */
import type { Cut, Interval, OfRun } from './common.ts';

export interface ResultsData extends OfRun {
  /** Null before the first evaluation is complete. */
  readonly headline: Headline | null;
  /** One sentence each: what a user should look at. */
  readonly warnings: readonly string[];
  readonly tables: readonly {
    readonly title: string;
    readonly table: TextTable;
    readonly notes: readonly string[];
  }[];
  /** The metrics behind the labels of rows and columns. */
  readonly about: Readonly<Record<string, string>>;
  readonly curves: readonly ResultCurve[];
  /** The last step of each round; 0 for the time before training. */
  readonly roundEnds: readonly number[];
  readonly examples: readonly Example[];
}

export interface TextTable {
  readonly columns: readonly { readonly label: string; readonly align: 'left' | 'right' }[];
  readonly rows: readonly (readonly string[])[];
}

/** Held-out accuracy: shares from 0 to 1. */
export interface Headline {
  readonly accuracy: number;
  readonly interval: Interval | null;
  /** Before training; null while nothing was measured after it. */
  readonly before: { readonly accuracy: number; readonly interval: Interval | null } | null;
  /** `+29.3 points (+22 to +37)`; empty if it is not known. */
  readonly change: string;
  /** Whether that is better, worse, or may be chance. */
  readonly direction: 'good' | 'bad' | 'unsure';
  /** What was asked, and how. */
  readonly asked: string;
}

export interface ResultCurve {
  readonly title: string;
  readonly metric: string;
  readonly lines: readonly {
    readonly name: string;
    readonly xs: readonly number[];
    readonly ys: readonly number[];
    /** 95 %, on held-out questions. */
    readonly low?: readonly number[];
    readonly high?: readonly number[];
  }[];
}

/** A question with one answer from before training and one from after. */
export interface Example {
  readonly why: string;
  readonly question: string;
  readonly text: string | Cut;
  readonly answers: readonly string[];
  readonly before: Shot;
  readonly after: Shot;
}

export interface Shot {
  readonly ref: string;
  readonly correct: boolean;
  readonly toolCalls: number;
  readonly reward: number | null;
  readonly version: number;
  readonly finish: string;
  readonly text: string | Cut;
}
