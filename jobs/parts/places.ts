/** What a job's engines and trainers are made for: the policy and the run. */

import type { z } from 'zod';
import type { Report, SleepClock } from '../../base/index.ts';
import type { PolicyEngine, Tokenizer, TrainerEngine } from '../../model/index.ts';
import type { Provider } from '../../model/runtime/index.ts';
import type { JobContext } from '../defineJob.ts';
import type { PartKind } from './kinds.ts';

/** What both are made for. */
export interface PartPlace {
  /** The first policy: a Hugging Face folder, or a policy file; absolute. */
  readonly policy: string;
  /** The policy as the user named it: `Qwen/Qwen2.5-3B-Instruct`, or a path. */
  readonly policyName: string;
  readonly tokenizer: Tokenizer;
  /** Longest context that the job generates and trains on, prompt and response, in tokens. */
  readonly contextMax: number;
  /** From the job's settings with these names; for what computes in this process. */
  readonly threads: number;
  readonly provider: Provider;
  /** The run's name, its folder (absolute) and its seed. */
  readonly run: string;
  readonly folder: string;
  readonly seed: number;
  readonly clock: SleepClock;
  /** Limit of the wait for a server that does not answer, whatever the settings allow a run. */
  readonly patienceMs: number;
  /** Prints a line for the user. */
  readonly print: Report;
}

/** What a trainer is made for. */
export type TrainerPlace = PartPlace;

/** Set for a trial start, whose user wants to know soon. */
const LOOK_PATIENCE_MS = 15_000;

export function patienceOf({ opened }: Pick<JobContext<unknown>, 'opened'>): number {
  return opened === undefined ? Number.POSITIVE_INFINITY : LOOK_PATIENCE_MS;
}

/** What an engine is made for; the trainer is made before it. */
export interface EnginePlace extends PartPlace {
  /** Where an engine in this process takes new weights (the job's setting `swap`). */
  readonly swap: 'rollout' | 'token';
  /** The run's trainer, for an engine that samples from a training service. */
  readonly trainer: TrainerEngine;
}

/** A kind of engine: a line in `engines.ts`. */
export type EngineKind<Shape extends z.ZodRawShape> = PartKind<Shape, EnginePlace, PolicyEngine>;

/** A kind of trainer: a line in `trainers.ts`. */
export type TrainerKind<Shape extends z.ZodRawShape> = PartKind<Shape, TrainerPlace, TrainerEngine>;
