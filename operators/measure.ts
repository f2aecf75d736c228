/**
 * `measure`: the scored groups of an evaluation in, its numbers out, once all of them are there.
 */
import { type OperatorFunction, pipe } from 'rxjs';
import type { Clock } from '../streams/clock.ts';
import type { Delivery } from '../streams/delivery.ts';
import { expandEach, gatherBy, keepIf } from '../streams/primitives.ts';
import type { Metric, Scored } from '../streams/records.ts';
import { evaluation } from './metrics/evaluation.ts';

export interface MeasureOptions {
  /** Questions of one evaluation. */
  readonly questions: number;
  /** Evaluations that may be incomplete at once. */
  readonly openMax: number;
  readonly clock: Clock;
}

const NAMES = {
  accuracy: 'eval/accuracy',
  meanToolCalls: 'eval/tools_mean',
  meanToolCallsCorrect: 'eval/tools_mean_correct',
  efficiency: 'eval/efficiency',
  formatValid: 'eval/format_valid',
  tokens: 'eval/len_response',
  questions: 'eval/questions',
} as const;

/** scored (phase `evaluate`) → metrics `eval/*`; `step` is the policy version that was measured. */
export function measure(
  options: MeasureOptions,
): OperatorFunction<Delivery<Scored>, Delivery<Metric>> {
  return pipe(
    keepIf<Scored>((scored) => scored.question.phase === 'evaluate'),
    gatherBy<Scored>({
      key: (scored) => String(scored.question.stage),
      size: options.questions,
      openMax: options.openMax,
    }),
    expandEach(
      (groups) => {
        const atMs = options.clock.now();
        const step = Math.max(...groups.map((group) => group.version));
        const stage = groups[0]!.question.stage;
        return Object.entries(evaluation(groups)).map(
          ([key, value]): Metric => ({
            name: NAMES[key as keyof typeof NAMES],
            value,
            step,
            stage,
            atMs,
          }),
        );
      },
      { concurrency: 1, onError: 'fail' },
    ),
  );
}
