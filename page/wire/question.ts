/** A question with all its groups of rollouts: `/r/RUN/q/QUESTION`. */
import type { Cut, OfRun } from './common.ts';

export interface QuestionFacts {
  readonly id: string;
  readonly text: string | Cut;
  readonly answers: readonly string[];
  readonly source: string;
  readonly ability: string;
}

export interface QuestionData extends OfRun {
  readonly question: QuestionFacts;
  /** Each time that it was rolled out, oldest first; at most 64. */
  readonly groups: readonly Group[];
  readonly total: number;
  /** Records read to find them, out of those to search: fewer if there were too many to search them all. */
  readonly scanned: number;
  readonly of: number;
}

export interface Group {
  /** Its phase and round in words: `practice, round 2`. */
  readonly when: string;
  readonly phase: string;
  /** As records count it: rounds of fine-tuning included. */
  readonly round: number;
  /** The oldest policy version in it. */
  readonly version: number | null;
  /** Its place in `scored`; null while it is not scored. */
  readonly scored: string | null;
  /** By index; with parents they form the branch tree (`parent.index`, `parent.offset` in tokens). */
  readonly rollouts: readonly RolloutRow[];
  /** How many the group has in all. */
  readonly size: number;
  readonly verdict: Verdict | null;
  /** The step that trained on it. */
  readonly batch: { readonly step: number; readonly place: number; readonly ref: string } | null;
}

export interface Verdict {
  readonly ref: string;
  readonly kept: boolean;
  readonly why: string;
  readonly front: number;
  readonly objectives: readonly (number | null)[];
  readonly distance: number | null;
}

export interface RolloutRow {
  /** For `/r/RUN/t/REF`. */
  readonly ref: string;
  readonly id: string;
  readonly index: number;
  readonly question: string;
  /** The rollout it branched from, and the response tokens it copied. */
  readonly parent: { readonly index: number; readonly offset: number } | null;
  /** Response tokens, including tool results. */
  readonly tokens: number;
  readonly turns: number;
  readonly toolCalls: number;
  readonly toolErrors: number | null;
  readonly status: 'done' | 'failed' | 'cancelled';
  readonly finish: 'answer' | 'stop' | 'length' | 'callLimit' | 'failed' | 'cancelled';
  readonly reason: string;
  /** Policy versions of its spans, ascending. */
  readonly versions: readonly number[];
  readonly reward: number | null;
  readonly parts: Readonly<Record<string, number>>;
  readonly advantage: number | null;
  /** By the part `raw` of its reward. */
  readonly correct: boolean | null;
  readonly ms: number;
}
