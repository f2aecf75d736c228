/** What a run reports about itself while it goes on, as data: what has happened, and what is going on. */

import type { Measured } from './measuring.ts';

/**
 * An optimiser step was made, or held-out questions were measured; `numbers` by their names in the topic
 * `metrics`.
 */
export interface ProgressEvent {
  readonly kind: 'step' | 'evaluation';
  readonly round: number;
  /** What people call it. */
  readonly roundName: string;
  readonly step: number;
  /** Optimiser steps in all; null if that is not known. */
  readonly steps: number | null;
  /** How answers were drawn, in words; empty if nothing is drawn. */
  readonly sampling: string;
  readonly numbers: Readonly<Record<string, number>>;
  readonly atMs: number;
}

/** Something that a user should look at, though the run goes on. */
export interface ProgressWarning {
  readonly text: string;
  readonly round: number;
  readonly step: number;
  readonly atMs: number;
}

/** An evaluation as people call it, and the held-out questions that are scored, of how many. */
export interface Measuring {
  readonly name: string;
  readonly done: number;
  readonly of: number;
}

/** What is going on between two events. */
export interface Pulse {
  /** Question groups in flight. */
  readonly inflight: number;
  /** Tokens that the policy has generated since the start. */
  readonly generatedTokens: number;
  /** Policy version in use. */
  readonly version: number;
  /** The evaluation that is under way; null or left out = none. */
  readonly measuring?: Measured | null;
}

/** The run at one moment. */
export interface ProgressStatus {
  /** The latest round, and how many there are after round 0; null for an endless job. */
  readonly roundName: string;
  readonly round: number;
  readonly rounds: number | null;
  readonly step: number | null;
  readonly steps: number | null;
  /** Share of the run's work that is done, 0 to 1; an estimate. Null for an endless job. */
  readonly share: number | null;
  /** How long the rest takes at the present rate; null while unknown. */
  readonly leftMs: number | null;
  /** Tokens a second, lately; null while unknown. */
  readonly generatedPerSecond: number | null;
  readonly trainedPerSecond: number | null;
  readonly reward: number | null;
  /** The evaluation that is under way; null = none. */
  readonly measuring: Measuring | null;
  /** What goes on; a text where nothing is rolled out. */
  readonly pulse: Pulse | string;
}

/** Where progress is shown. It decides nothing, and what it throws ends the run. */
export interface ProgressScreen {
  event(event: ProgressEvent): void;
  warning(warning: ProgressWarning): void;
  /** Once a second. */
  status(status: ProgressStatus): void;
  close(): void;
}
