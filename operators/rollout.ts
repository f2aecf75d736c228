/**
 * `rollout`: a question in, its group of finished trajectories out.
 *
 * For each rollout: generate until a tool's tag closes, run the tool, append its result block (which is never
 * trained on), go on, until the policy ends its answer, runs out of room, or calls once too often. A group
 * that branches (ARPO) is grown round by round by `growGroup`. Guarantees:
 * - every accepted question gives exactly `n` terminal rollouts, failed ones too, in one commit (a guided
 *   group: at most);
 * - every draw is keyed by (seed, question, phase, round, rollout), so timing changes nothing;
 * - a question starts only when the policy is of the version that it is due (`gate`);
 * - a gate that fails ends the stage: a question is never lost to a dead letter.
 */
import { setMaxListeners } from 'node:events';
import type { OperatorFunction } from 'rxjs';
import type { Delivery } from '../streams/deliveries/index.ts';
import { expandEach } from '../streams/index.ts';
import { type Question, type Rollout, topics } from '../topics/index.ts';
import { BOUNDED_BY_ADMISSION } from './gate.ts';
import { tellingFailures } from './rollout/failures.ts';
import { growGroup } from './rollout/growGroup.ts';
import type { RolloutOptions } from './rollout/options.ts';

export type { RolloutOptions };

const SAMPLING = ['temperature', 'topP', 'topK', 'minP', 'repetitionPenalty'] as const;

/** With the sampling for this question. */
async function optionsOf(
  question: Question,
  options: RolloutOptions,
  signal: AbortSignal,
): Promise<RolloutOptions> {
  const { live } = options;
  if (live === undefined) return options;
  await live.ready(question, signal);
  const changed = live.of(question);
  const own = SAMPLING.filter((name) => typeof changed[name] === 'number');
  return { ...options, ...Object.fromEntries(own.map((name) => [name, changed[name]])) };
}

/** questions → rollouts (n each), with their tool calls. */
export function rollout(
  options: RolloutOptions,
): OperatorFunction<Delivery<Question>, Delivery<Rollout>> {
  const admission = options.gate.admission(options.concurrency);
  const tellFailures = tellingFailures(options.report ?? (() => undefined));
  return expandEach(
    async (question, scope) => {
      const { signal } = scope;
      setMaxListeners(0, signal);
      const release = await admission.admit(question, scope);
      try {
        const asked = options.gate.withFirstVersion(question);
        const { grow = growGroup } = options;
        const group = await grow(asked, await optionsOf(asked, options, signal), signal);
        tellFailures(group.rollouts);
        for (const call of group.toolCalls) scope.also(topics.toolCalls, call);
        for (const { topic, value } of group.also ?? []) scope.also(topic, value);
        return group.rollouts;
      } finally {
        release();
      }
    },
    { concurrency: BOUNDED_BY_ADMISSION, onError: 'fail' },
  );
}
