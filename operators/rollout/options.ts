/** What a rollout needs: the policy and its tools, how many rollouts a question gets, and their limits. */
import type { Clock } from '../../base/index.ts';
import type { PolicyEngine, Sampling } from '../../model/index.ts';
import type { SideRecord } from '../../streams/deliveries/index.ts';
import type { Question, Rollout, ToolCall } from '../../topics/index.ts';
import type { CallTool } from '../callTools.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { PolicyGate } from '../gate.ts';
import type { Branching, EntropyGuided } from '../sampling/branching.ts';
import type { Helping } from './helping.ts';

/** What rolls out, how often, and where a rollout has to end. */
export interface RolloutOptions extends Sampling {
  readonly engine: PolicyEngine;
  /** How the policy is asked, calls and answers. */
  readonly dialect: Dialect;
  readonly tools: CallTool;
  readonly gate: PolicyGate;
  readonly seed: number;
  /** Rollouts of a question (n). */
  readonly samples: (question: Question) => number;
  /** Most response tokens, tool results included (L). */
  readonly responseMax: number;
  /** Most tool calls of one rollout (K). */
  readonly callLimit: number;
  /**
   * Most calls of a tool in one rollout. One beyond it is not made: the policy writes once more, without a
   * result, and the rollout ends. Left out = only `callLimit` counts.
   */
  readonly toolLimit?: ((tool: string) => number) | undefined;
  /** How a question's group branches; null = n independent rollouts. A guided group may have fewer than n. */
  readonly branching: (question: Question) => Branching | EntropyGuided | null;
  /** Questions rolled out at once; those that wait for their version are not counted. */
  readonly concurrency: number;
  /** What of the sampling is other than above, for a question; nothing unless given. */
  readonly live?: {
    ready(question: Question, signal: AbortSignal): Promise<void>;
    of(question: Question): Readonly<Record<string, unknown>>;
  };
  /** Who helps a rollout on; no one when left out. */
  readonly helping?: Helping | undefined;
  readonly clock: Clock;
  /** Called when rollouts fail. */
  readonly report?: ((line: string) => void) | undefined;
  /**
   * How a group is grown, in place of segments, calls and branches: episodes of one continued thought,
   * say.
   */
  readonly grow?: Grow | undefined;
}

/** A question's rollouts, and what is recorded with them. */
export interface Group {
  readonly rollouts: readonly Rollout[];
  readonly toolCalls: readonly ToolCall[];
  /** Records of other topics, in order; none when left out. */
  readonly also?: readonly SideRecord[];
}

/**
 * Grows the group of a question. Rejects only when the signal aborts; a rollout that fails is a failed
 * rollout.
 */
export type Grow = (
  question: Question,
  options: RolloutOptions,
  signal: AbortSignal,
) => Promise<Group>;
