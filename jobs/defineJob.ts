/**
 * A job: a name, typed settings, and the flow that they wire up. What `millrace run` loads.
 *
 * A job file default-exports `defineJob({...})`. `build` is called once per start, even when a run is
 * resumed: it must wire the same flow from the same settings and seed, and may only append to the log
 * through the flow.
 */

import type { z } from 'zod';
import type { Clock, Report } from '../base/index.ts';
import type { RecordedSession } from '../gateway/index.ts';
import type { Checkpoint, PolicyEngine, TrainerEngine } from '../model/index.ts';
import type { Dialect } from '../operators/dialect/index.ts';
import type { CallTool } from '../operators/index.ts';
import type { ProgressScreen } from '../sinks/progress/index.ts';
import type { Control, Flow, Log } from '../streams/index.ts';
import type { McpCallRecord, ModelCallRecord, Question, Unanswered } from '../topics/index.ts';
import type { Attempt } from './attempt.ts';
import type { PromptRecord } from './parts/promptRecord.ts';
import type { RunPlace } from './runPlace.ts';

/** Calls of a session: of the model, and of MCP tools. */
export interface SessionPast {
  readonly calls: readonly ModelCallRecord[];
  readonly tools: readonly McpCallRecord[];
}

/** What a job gets. */
export interface JobContext<Settings> {
  /** The run's name and its folder (absolute). */
  readonly run: string;
  readonly folder: string;
  readonly seed: number;
  readonly settings: Settings;
  readonly log: Log;
  readonly clock: Clock;
  /** Prints a line for the user (stderr). */
  readonly print: Report;
  /**
   * Where to show progress; left out = as lines of `print`. `policyLoop` uses it; a job with wiring of its
   * own passes it to `progress`.
   */
  readonly screen?: ProgressScreen;
  /** Hands over something to close when the job ends (last first). */
  own<T extends { close(): Promise<void> }>(resource: T): T;
  /** Where to keep the run's checkpoints and files; left out = in its folder. */
  readonly place?: RunPlace;
  /** Commands to the running run; left out = none. */
  readonly control?: Control;
  /** Set when a recorded run is replayed: rollouts go through it. */
  readonly replay?: Replay;
  /**
   * Set if only the policy's prompt is wanted (`--show-prompt`): takes the prompt as soon as it is known, and
   * throws.
   */
  readonly prompted?: (prompt: PromptRecord) => never;
  /** Set when agents run again from a recorded call on (`millrace fork`): what they did before it. */
  readonly forked?: SessionPast;
  /** Set if only the start is wanted (`--check`, `millrace try`): tries out what `policyLoop` has opened. */
  readonly opened?: (loop: OpenedLoop) => Promise<void>;
}

/** What a training job has once it could begin. */
export interface OpenedLoop {
  readonly engine: PolicyEngine;
  readonly trainer: TrainerEngine;
  readonly dialect: Dialect;
  /** Path of the first policy. */
  readonly base: string;
  /** Questions to train on (infinite if they are endless), and held out. */
  readonly questions: { readonly train: number; readonly heldOut: number };
  /** The first policy, as engines load it. */
  readonly first: Checkpoint;
  /** A question that the policy will be asked. */
  readonly question: string;
  /** The planned question with this id, or the first; null if there is none, or if they are still to come. */
  planned(id: string | null): Question | null;
  /** Rolls a question out this many times and scores the group, as in a run; the records go to the log. */
  attempt(question: Question, samples: number): Promise<Attempt>;
}

/**
 * What a replay substitutes for a job's engine and tools. `policyLoop` uses it; a job with wiring of its own
 * calls it.
 */
export interface Replay {
  /** The engine, which generates with the recorded policy versions. */
  engine(live: PolicyEngine): PolicyEngine;
  /** The tools, answering from the record. */
  tools(live: CallTool): CallTool;
  /**
   * The recorded session of a rollout: agents do not run again; left out = they do. Null if none is recorded.
   */
  readonly sessions?: (rolloutId: string) => Promise<RecordedSession | null>;
  /** Flywheel requests that got no answer then, and are not repeated; left out = all are made. */
  readonly unanswered?: (question: Question) => readonly Unanswered[];
  /** Keep the weights of all versions: an old one may be needed after newer ones exist. */
  readonly keepAll: boolean;
  /** Changes of settings that the recorded manifest of a version counts. */
  readonly controls?: (version: number) => number;
  /**
   * The recorded steps that were not trained, because other weights had made their rollouts; left out =
   * decided again.
   */
  readonly refused?: (step: number) => boolean;
  /** The recorded steps that count forward passes only; left out = all do. */
  readonly counted?: (step: number) => boolean;
  /** The recorded versions with an optimiser state; left out = the settings decide. */
  readonly saved?: (version: number) => boolean;
}

/** Named settings: `--preset NAME` applies them all; a settings file and `--set` override them. */
export interface Preset {
  /** One sentence: whose numbers these are, and what they ran on. */
  readonly about: string;
  /** Some of the job's settings, in its groups. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** What a job file exports by default: a name, settings with defaults, and how its flow is built. */
export interface Job<Schema extends z.ZodType = z.ZodType> {
  readonly name: string;
  /** One sentence for `--help`. */
  readonly about: string;
  /** Settings with defaults: `--set key=value` overrides one, dotted keys reach inside. */
  readonly settings: Schema;
  /** By name. */
  readonly presets?: Readonly<Record<string, Preset>>;
  readonly build: (context: JobContext<z.infer<Schema>>) => Promise<Flow> | Flow;
}

/** Gives a job its types and returns it unchanged. */
export function defineJob<Schema extends z.ZodType>(job: Job<Schema>): Job<Schema> {
  return job;
}
