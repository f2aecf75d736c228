/** A policy version: `/r/RUN/weights/VERSION`. */
import type { OfRun } from './common.ts';
import type { RolloutRow } from './question.ts';

export interface WeightsData extends OfRun {
  readonly version: number;
  readonly ref: string;
  readonly atMs: number;
  readonly parent: number;
  readonly step: number;
  readonly roundsDone: number;
  /** The last round that it finished; empty before any. */
  readonly finished: string;
  readonly uri: string;
  readonly digest: string | null;
  readonly parentDigest: string | null;
  readonly bytes: number;
  /** The state of its file: `gone` is no error if older versions are not kept; `changed` is damage. */
  readonly file: {
    readonly kind: 'intact' | 'gone' | 'changed' | 'unchecked';
    /** A few words; empty if there is nothing to say. */
    readonly why: string;
  };
  readonly state: string;
  readonly stateDigest: string | null;
  /** The step that made it, with its batch; null for the first version. */
  readonly batch: {
    readonly ref: string;
    readonly step: number;
    readonly round: number;
    /** The name of its round. */
    readonly roundName: string;
    readonly kind: string;
    readonly groups: readonly { readonly question: string; readonly scored: string }[];
    readonly examples: number;
  } | null;
  /** Numbers of its step. */
  readonly metrics: readonly { readonly name: string; readonly value: number }[];
  /** Rollouts whose first token it sampled: the first 64, and how many there were among those scanned. */
  readonly rollouts: {
    readonly first: readonly RolloutRow[];
    readonly count: number;
    readonly scanned: number;
    readonly of: number;
  };
  readonly before: number | null;
  readonly after: number | null;
}
