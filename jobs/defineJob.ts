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

/** What a job is given. */
export interface JobContext<Settings> {
  /** The run's name and its folder (absolute). */
  readonly run: string;
  readonly folder: string;
  readonly seed: number;
  readonly settings: Settings;
  readonly log: Log;
  readonly clock: Clock;
  /** A line for the user (stderr). */
  readonly print: Report;
  /**
   * Where progress is shown; left out = as lines of `print`. `policyLoop` uses it; a job with wiring of its
   * own gives it to `progress`.
   */
  readonly screen?: ProgressScreen;
  /** Hand over something to close when the job ends (last first). */
  own<T extends { close(): Promise<void> }>(resource: T): T;
  /** Where checkpoints and files of the run are kept; left out = in its folder. */
  readonly place?: RunPlace;
  /** Commands to the run while it goes on; left out = none. */
  readonly control?: Control;
  /** Set when a recorded run is replayed: what rolls out goes through it. */
  readonly replay?: Replay;
  /**
   * Set when the policy's prompt alone is wanted (`--show-prompt`): it takes the prompt as soon as it is
   * known, and throws.
   */
  readonly prompted?: (prompt: PromptRecord) => never;
  /** Set to run agents again from a recorded call on (`millrace fork`): what they did before it. */
  readonly forked?: SessionPast;
  /** Set to look only at the start (`--check`, `millrace try`): tries what `policyLoop` has opened. */
  readonly opened?: (loop: OpenedLoop) => Promise<void>;
}

/** What a training job has when it could begin. */
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
  /** One that the policy will be asked. */
  readonly question: string;
  /** The planned question of this id, or the first; null if there is none, or they are still to come. */
  planned(id: string | null): Question | null;
  /** Rolls a question out this many times and scores the group, as in a run; the log gets the records. */
  attempt(question: Question, samples: number): Promise<Attempt>;
}

/**
 * What a replay puts in place of a job's engine and tools. `policyLoop` uses it; a job with wiring of its
 * own calls it.
 */
export interface Replay {
  /** The engine, which generates with the recorded policy versions. */
  engine(live: PolicyEngine): PolicyEngine;
  /** The tools, answering from the record. */
  tools(live: CallTool): CallTool;
  /**
   * The session of a rollout as it is recorded: agents are not run again; left out = they are. Null if it is
   * not recorded.
   */
  readonly sessions?: (rolloutId: string) => Promise<RecordedSession | null>;
  /** Requests of the flywheel that got no answer then, and are not made again; left out = all are made. */
  readonly unanswered?: (question: Question) => readonly Unanswered[];
  /** Keep the weights of all versions: an old one may be needed after newer ones exist. */
  readonly keepAll: boolean;
  /** Changes of settings that the recorded manifest of a version counts. */
  readonly controls?: (version: number) => number;
  /**
   * The recorded steps that were not trained, because other weights had made their rollouts; left out = it is
   * judged again.
   */
  readonly refused?: (step: number) => boolean;
  /** The recorded steps that count what went forward only; left out = all are to. */
  readonly counted?: (step: number) => boolean;
  /** The recorded versions with an optimiser state; left out = the settings say. */
  readonly saved?: (version: number) => boolean;
}

/** Settings under a name: `--preset NAME` gives them all; a settings file and `--set` override them. */
export interface Preset {
  /** One sentence: whose numbers these are, and what they were run on. */
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

/** Gives a job its types; the job is returned as it is. */
export function defineJob<Schema extends z.ZodType>(job: Job<Schema>): Job<Schema> {
  return job;
}
