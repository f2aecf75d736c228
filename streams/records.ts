/**
 * The records of the ten topics, as types.
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
 * Why a question is rolled out: `explore` = direct rollouts that Pareto sampling judges,
 * `practice` = rollouts that are trained on, `evaluate` = rollouts that are only measured.
 */
export type Phase = 'explore' | 'practice' | 'evaluate';

/** A group's place in its round: group `index` of `of`; the round begins at policy `version`. */
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
