/** What a run reports about itself as data: what has happened, and what it is doing. */

import type { Measured } from './measuring.ts';

/**
 * An optimiser step was made, or held-out questions were measured; `numbers` by their names in the topic
 * `metrics`.
 */
export interface ProgressEvent {
  readonly kind: 'step' | 'evaluation';
  readonly round: number;
  /** Its name for people. */
  readonly roundName: string;
  readonly step: number;
  /** Optimiser steps in all; null if unknown. */
  readonly steps: number | null;
  /** How answers were sampled, in words; empty if nothing is sampled. */
  readonly sampling: string;
  readonly numbers: Readonly<Record<string, number>>;
  readonly atMs: number;
}

/** Something that deserves the user's attention, though the run goes on. */
export interface ProgressWarning {
  readonly text: string;
  readonly round: number;
  readonly step: number;
  readonly atMs: number;
}

/** An evaluation by its name for people, and how many of the held-out questions are scored. */
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
  /** The evaluation under way; null or left out = none. */
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
  /** How long the rest takes at the current rate; null while unknown. */
  readonly leftMs: number | null;
  /** Recent tokens per second; null while unknown. */
  readonly generatedPerSecond: number | null;
  readonly trainedPerSecond: number | null;
  readonly reward: number | null;
  /** The evaluation under way; null = none. */
  readonly measuring: Measuring | null;
  /** What is going on; a text if nothing is rolled out. */
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
