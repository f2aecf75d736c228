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
  /** Rollouts per question (n). */
  readonly samples: (question: Question) => number;
  /** Limit of response tokens, including tool results (L). */
  readonly responseMax: number;
  /** Limit of tool calls per rollout (K). */
  readonly callLimit: number;
  /**
   * Limit of calls per tool in one rollout. A call beyond it is not made: the policy writes once more,
   * without a result, and the rollout ends. Left out = only `callLimit` counts.
   */
  readonly toolLimit?: ((tool: string) => number) | undefined;
  /** How a question's group branches; null = n independent rollouts. A guided group may have fewer than n. */
  readonly branching: (question: Question) => Branching | EntropyGuided | null;
  /** Questions rolled out at once, not counting those that wait for their version. */
  readonly concurrency: number;
  /** Sampling options of a question that differ from those above; none unless given. */
  readonly live?: {
    ready(question: Question, signal: AbortSignal): Promise<void>;
    of(question: Question): Readonly<Record<string, unknown>>;
  };
  /** Helps rollouts; left out = no help. */
  readonly helping?: Helping | undefined;
  readonly clock: Clock;
  /** Called when rollouts fail. */
  readonly report?: ((line: string) => void) | undefined;
  /**
   * How to grow a group, instead of segments, calls and branches: for example episodes of one continued
   * thought.
   */
  readonly grow?: Grow | undefined;
}

/** A question's rollouts, and what is recorded with them. */
export interface Group {
  readonly rollouts: readonly Rollout[];
  readonly toolCalls: readonly ToolCall[];
  /** Records of other topics, in order; none if left out. */
  readonly also?: readonly SideRecord[];
}

/**
 * Grows the group of a question. Rejects only if the signal aborts; a rollout that fails is a failed rollout.
 */
export type Grow = (
  question: Question,
  options: RolloutOptions,
  signal: AbortSignal,
) => Promise<Group>;
