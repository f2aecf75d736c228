/** Two runs compared: `/diff/RUN_A..RUN_B`. */
import type { Interval, RunHead, Shown } from './common.ts';

export interface DiffData {
  readonly wire: number;
  readonly nowMs: number;
  readonly a: RunHead;
  readonly b: RunHead;
  /** Settings that differ, out of `settingsTotal`. */
  readonly settings: readonly { readonly name: string; readonly a: Shown; readonly b: Shown }[];
  readonly settingsTotal: number;
  /** The last complete evaluation of each, paired by question; null if they share no questions. */
  readonly paired: Paired | null;
  /** Why `paired` is null. */
  readonly pairedWhy: string;
  /** Means over the steps of each round. */
  readonly metrics: readonly {
    readonly round: number;
    readonly roundName: string;
    readonly name: string;
    readonly a: number | null;
    readonly b: number | null;
  }[];
  /** The first record that differs; `pending` while it is being looked for: ask again. */
  readonly divergence: Divergence;
  readonly command: string;
}

export interface Paired {
  readonly roundA: number;
  readonly roundB: number;
  readonly questions: number;
  /** Questions that only one of the two was asked. */
  readonly onlyA: number;
  readonly onlyB: number;
  readonly figures: readonly PairedFigure[];
  readonly solvedToFailed: number;
  readonly failedToSolved: number;
  /** Questions that flip; at most 500. */
  readonly flips: readonly Flip[];
}

export interface PairedFigure {
  /** `accuracy`, `meanToolCalls`, `tokens`, … */
  readonly name: string;
  readonly a: number;
  readonly b: number;
  /** b − a, 95 %, paired by question. */
  readonly difference: number;
  readonly interval: Interval;
  readonly questions: number;
}

export interface Flip {
  readonly question: string;
  readonly text: string;
  readonly to: 'solved' | 'failed';
  /** Mean of correctness over its rollouts. */
  readonly a: number;
  readonly b: number;
  /** First rollouts of it, for a link each. */
  readonly refA: string | null;
  readonly refB: string | null;
}

export type Divergence =
  /** How many records of both runs have been read; null before it has begun. */
  | {
      readonly state: 'pending';
      readonly read: { readonly records: number; readonly of: number } | null;
    }
  | { readonly state: 'same'; readonly records: number }
  /** A sentence, before the command that compares them. */
  | { readonly state: 'failed'; readonly why: string }
  | {
      readonly state: 'differs';
      readonly topic: string;
      readonly id: string;
      /** Field of the record; empty if only one run has the record. */
      readonly field: string;
      /** Policy version that was newest there; -1 = before any, or not known. */
      readonly version: number;
      readonly a: { readonly ref: string | null; readonly value: Shown } | null;
      readonly b: { readonly ref: string | null; readonly value: Shown } | null;
      /** Of a rollout: the first token that differs. */
      readonly token: {
        readonly index: number;
        /** What both wrote just before it; null if the tokenizer is not here. */
        readonly before: string | null;
        readonly a: TokenText | null;
        readonly b: TokenText | null;
        readonly versionA: number | null;
        readonly versionB: number | null;
      } | null;
      /** Records that are the same, by topic. */
      readonly same: Readonly<Record<string, { readonly equal: number; readonly all: number }>>;
    };

/** A token, and what follows it. */
export interface TokenText {
  readonly text: string;
  readonly rest: string;
}
