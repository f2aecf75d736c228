/**
 * The records of the twelve topics, as types.
 *
 * A record is plain, readonly data. Token ids and log-probs are typed arrays (packed little-endian
 * bytes on the wire, never JSON arrays). The Avro contracts in `topics.ts` say the same in Avro;
 * a test holds the two together by a round trip of every topic.
 */

/** Where a record lies in its topic. The embedded log has the one partition 0. */
export interface Position {
  readonly partition: number;
  readonly offset: number;
}

export type Ability = 'math' | 'qa';

/**
 * Why a question is rolled out: `explore` = direct rollouts that Pareto sampling judges, `practice` = rollouts that are
 * trained on, `evaluate` = rollouts that are only measured, `evolve` = the flywheel makes a pool of trajectories of it,
 * `prefer` = rollouts that become preference pairs.
 */
export type Phase = 'explore' | 'practice' | 'evaluate' | 'evolve' | 'prefer';

/**
 * A group's place in its round: group `index` of `of`; the round begins at policy `version` (-1: at the one that ends the
 * round before).
 */
export interface Schedule {
  readonly index: number;
  readonly of: number;
  readonly version: number;
}

/** One task. The same question may come again in another stage; (id, phase, stage) is unique in a run. */
export interface Question {
  readonly id: string;
  readonly question: string;
  readonly answers: readonly string[];
  readonly source: string;
  readonly ability: Ability;
  readonly phase: Phase;
  /** Curriculum round, from 1; 0 = before any training. */
  readonly stage: number;
  /** Set for groups that are trained on: all of phase `practice`, and candidates that are not rolled out again. */
  readonly schedule: Schedule | null;
}

/** A run of response tokens with one author. `end` is exclusive; both are offsets into the response. */
export interface Segment {
  readonly kind: 'policy' | 'tool';
  readonly start: number;
  readonly end: number;
  /** Policy version that sampled it; for a tool segment, the version of the segment before it. */
  readonly version: number;
  /** ARPO step entropy of a policy segment (arpo §1.2); null where it was not measured. */
  readonly entropy: number | null;
  /** Tag of the tool that wrote a tool segment, or that a policy segment called; null otherwise. */
  readonly tool: string | null;
}

export type RolloutStatus = 'done' | 'failed' | 'cancelled';
/** `answer` = closed its answer; `stop` = end token without an answer; `callLimit` = one call too many. */
export type Finish = 'answer' | 'stop' | 'length' | 'callLimit' | 'failed' | 'cancelled';

/** One finished trajectory: the terminal record of (question, phase, stage, index). */
export interface Rollout {
  /** `<question id>/<phase>-<stage>/<index>` */
  readonly id: string;
  readonly question: Question;
  readonly index: number;
  /** How many rollouts the group has. */
  readonly groupSize: number;
  readonly seed: number;
  readonly prompt: Int32Array;
  /** Response tokens, tool results included. */
  readonly tokens: Int32Array;
  /** Log-prob of each response token under the policy that sampled it; 0 for tool tokens. */
  readonly logProbs: Float32Array;
  readonly segments: readonly Segment[];
  /** The response as text. */
  readonly text: string;
  readonly toolCalls: number;
  /** Branch: index of the rollout it was cloned from and response tokens copied; null for a root. */
  readonly parent: { readonly index: number; readonly offset: number } | null;
  /** The version that sampled its first token. */
  readonly version: number;
  readonly status: RolloutStatus;
  readonly finish: Finish;
  /** Why it failed or was cancelled; empty when done. */
  readonly reason: string;
  readonly startedMs: number;
  readonly endedMs: number;
}

/** One tool call, as it went. What makes replay possible. */
export interface ToolCall {
  readonly rolloutId: string;
  readonly questionId: string;
  /** Number of the call within its rollout, from 0. */
  readonly turn: number;
  readonly tool: string;
  readonly input: string;
  readonly output: string;
  readonly ok: boolean;
  readonly attempts: number;
  readonly cached: boolean;
  readonly ms: number;
}

/** The reward of one rollout with its parts (`raw`, `tool`, `length`, `format`, …). */
export interface Reward {
  readonly score: number;
  readonly parts: Readonly<Record<string, number>>;
}

/** One group, scored. `rollouts[i]` and `rewards[i]` belong together. */
export interface Scored {
  readonly question: Question;
  readonly rewards: readonly Reward[];
  readonly toolCalls: readonly number[];
  /** Response length in tokens, tool results included. */
  readonly lengths: readonly number[];
  /** Group-relative advantage per rollout. */
  readonly advantages: readonly number[];
  /** Where its rollouts lie in `rollouts`. */
  readonly rollouts: readonly Position[];
  /** Oldest policy version in the group. */
  readonly version: number;
}

/** The Pareto verdict on a group. */
export interface Selected {
  readonly question: Question;
  /** Objective values, in the order that the sampler states (dispersion of tool calls, of correctness). */
  readonly objectives: readonly number[];
  readonly front: number;
  /** Crowding distance; null unless it was computed (the one truncated front). Infinity is allowed. */
  readonly distance: number | null;
  readonly kept: boolean;
  /** `selected`, `dominated`, `crowded`, `uniform` (all right or all wrong). */
  readonly why: string;
  /** Among the kept: place and number; -1 and the number when not kept. */
  readonly index: number;
  readonly of: number;
  /** Policy version at which the round begins. */
  readonly version: number;
  /** Where the judged group lies in `scored`. */
  readonly scored: Position;
}

/** What a step trains on: groups (`policy`), demonstrations (`sft`) or preference pairs (`dpo`). */
export type BatchKind = 'policy' | 'sft' | 'dpo';

/** One example of a step: number `index` of the record at `position` in `demonstrations` (sft) or `pairs` (dpo). */
export interface ExampleRef {
  readonly questionId: string;
  readonly position: Position;
  readonly index: number;
}

/** The schedule: what made step k. The order is data. */
export interface Batch {
  /** Optimiser step, from 1. */
  readonly step: number;
  readonly stage: number;
  /** Policy version that the step starts from. */
  readonly version: number;
  readonly groups: readonly { readonly questionId: string; readonly scored: Position }[];
  /** The last step of its round. */
  readonly last: boolean;
  readonly kind: BatchKind;
  /** Empty for `policy`; `groups` is empty for the others. */
  readonly examples: readonly ExampleRef[];
  /** Place of this step among the steps of its round, and their number where the schedule knows it (learning-rate schedules); else 0 of 0. */
  readonly index: number;
  readonly of: number;
}

/** A manifest of weights. Tensors lie in the file it names, never in the topic (claim check). */
export interface Weights {
  readonly version: number;
  /** -1 for the first version. */
  readonly parent: number;
  readonly step: number;
  /** Rounds finished with this version. */
  readonly roundsDone: number;
  /** safetensors file, relative to the run folder. */
  readonly file: string;
  readonly sha256: string;
  readonly bytes: number;
  /** Optimiser state, relative to the run folder; empty when there is none. */
  readonly optimiser: string;
  /** Where the trainer had read to: position in `batches` of the step that made it; null for the first. */
  readonly consumed: Position | null;
}

/** One number at one step. Names as in docs/metrics.md. */
export interface Metric {
  readonly name: string;
  readonly step: number;
  readonly stage: number;
  readonly value: number;
  readonly atMs: number;
}

/** One flywheel trajectory. */
export interface Evolved {
  readonly question: Question;
  readonly round: number;
  /** Index of its parent in the question's buffer; -1 for the first. */
  readonly parent: number;
  readonly action: string;
  readonly correct: boolean;
  readonly toolCalls: number;
  readonly text: string;
  /** Place in the question's pool of `of` trajectories. */
  readonly index: number;
  readonly of: number;
  /** Policy version that rolled it out. */
  readonly version: number;
}

/** A trajectory to fine-tune on, from the pool of its question. */
export interface Demonstration {
  /** Index in the pool. */
  readonly index: number;
  readonly round: number;
  readonly action: string;
  readonly toolCalls: number;
  readonly text: string;
}

/** What a question gives to fine-tuning: the trajectories that passed the quality filter, and why the others did not. */
export interface Demonstrations {
  readonly question: Question;
  /** How hard the question is for the policy, by the method's own classes; empty where it has none. */
  readonly difficulty: string;
  readonly kept: readonly Demonstration[];
  readonly dropped: readonly { readonly index: number; readonly why: string }[];
  /** Newest policy version in the pool: the fine-tuning starts from it. */
  readonly version: number;
}

/** A better and a worse response to one question. */
export interface PreferencePair {
  readonly chosen: string;
  readonly rejected: string;
  /** By which rule. */
  readonly why: string;
}

/** What a question gives to preference optimisation; no pairs where its responses do not differ enough. */
export interface Pairs {
  readonly question: Question;
  /** How hard the question is for the policy, by the method's own classes; empty where it has none. */
  readonly difficulty: string;
  readonly pairs: readonly PreferencePair[];
  /** Newest policy version of the responses: the preference steps start from it. */
  readonly version: number;
}

/** What could not be read or processed, why, and where it came from. */
export interface DeadLetter {
  /** Topic or file that it came from. */
  readonly origin: string;
  /** Line of a file (from 1), or offset in a topic. */
  readonly place: number;
  readonly key: string;
  readonly field: string;
  readonly reason: string;
  readonly payload: string;
}
