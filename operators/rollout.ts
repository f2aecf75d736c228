/**
 * `rollout`: a question in, its group of finished trajectories out.
 *
 * For each rollout: generate until a tool's tag closes, run the tool, append its result block (which is never
 * trained on), go on, until the policy ends its answer, runs out of room, or calls once too often. A group
 * that branches (ARPO) is grown round by round by `growGroup`. Holds true:
 * - every accepted question gives exactly `n` terminal rollouts, failed ones too, in one commit (a guided group: at most);
 * - every draw is keyed by (seed, question, phase, stage, rollout), so timing changes nothing;
 * - a question starts only when the policy is of the version that it is due (`gate`);
 * - a gate that fails ends the stage: a question is never lost to a dead letter.
 */
import { setMaxListeners } from 'node:events';
import type { OperatorFunction } from 'rxjs';
import type { Clock } from '../base/clock.ts';
import type { PolicyEngine, Tokenizer } from '../model/engine.ts';
import type { Sampling } from '../model/sampling.ts';
import type { Delivery } from '../streams/deliveries/delivery.ts';
import { expandEach } from '../streams/primitives.ts';
import type { Question, Rollout } from '../streams/records.ts';
import { topics } from '../streams/topics.ts';
import type { CallTool } from './callTools.ts';
import { BOUNDED_BY_ADMISSION, type PolicyGate } from './gate.ts';
import { growGroup } from './rollout/growGroup.ts';
import type { Branching, EntropyGuided } from './sampling/branching.ts';

/** What rolls out, how often, and where a rollout has to end. */
export interface RolloutOptions extends Sampling {
  readonly engine: PolicyEngine;
  readonly tokenizer: Tokenizer;
  /** The chat template: question text to prompt tokens. */
  readonly prompt: (question: string) => Int32Array;
  readonly tools: CallTool;
  readonly gate: PolicyGate;
  readonly seed: number;
  /** Rollouts of a question (n). */
  readonly samples: (question: Question) => number;
  /** Most response tokens, tool results included (L). */
  readonly responseMax: number;
  /** Most tool calls of one rollout (K). */
  readonly callLimit: number;
  /** How a question's group branches; null = n independent rollouts. A guided group may have fewer than n. */
  readonly branching: (question: Question) => Branching | EntropyGuided | null;
  /** Questions rolled out at once; those that wait for their version are not counted. */
  readonly concurrency: number;
  readonly clock: Clock;
}

/** questions → rollouts (n each), with their tool calls beside them. */
export function rollout(
  options: RolloutOptions,
): OperatorFunction<Delivery<Question>, Delivery<Rollout>> {
  const admission = options.gate.admission(options.concurrency);
  return expandEach(
    async (question, scope) => {
      const { signal } = scope;
      setMaxListeners(0, signal);
      const release = await admission.admit(question, scope);
      try {
        const group = await growGroup(options.gate.dated(question), options, signal);
        for (const call of group.toolCalls) scope.also(topics.toolCalls, call);
        return group.rollouts;
      } finally {
        release();
      }
    },
    { concurrency: BOUNDED_BY_ADMISSION, onError: 'fail' },
  );
}
