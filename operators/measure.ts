/** `measure`: the scored groups of an evaluation in, its numbers out, once all of them have arrived. */
import { type OperatorFunction, pipe, tap } from 'rxjs';
import type { Clock } from '../base/index.ts';
import type { Delivery } from '../streams/deliveries/index.ts';
import { expandEach, gatherBy, keepIf } from '../streams/index.ts';
import type { Metric, Scored } from '../topics/index.ts';
import { behaviour, type NamedNumbers } from './metrics/behaviour.ts';
import { evaluation } from './metrics/evaluation.ts';

/** The size of an evaluation, and what to measure. */
export interface MeasureOptions {
  /** Questions of one evaluation. */
  readonly questions: number;
  /** Limit of incomplete evaluations. */
  readonly openMax: number;
  readonly clock: Clock;
  /** Called for each group of an evaluation when it is scored. */
  readonly onScored?: (round: number) => void;
  /** Further numbers of the same groups, by their names in the topic. */
  readonly also?: (groups: readonly Scored[]) => NamedNumbers;
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
    tap(({ value }) => options.onScored?.(value.question.round)),
    gatherBy<Scored>({
      key: (scored) => String(scored.question.round),
      size: options.questions,
      openMax: options.openMax,
    }),
    expandEach(
      (arrived) => {
        // A sum's last bits depend on the order of its summands, and arrival order is arbitrary.
        const groups = arrived.toSorted(byId);
        const atMs = options.clock.now();
        const step = Math.max(...groups.map((group) => group.version));
        const round = groups[0]!.question.round;
        return Object.entries(numbers(groups, options)).map(
          ([name, value]): Metric => ({ name, value, step, round, atMs }),
        );
      },
      { concurrency: 1, onError: 'fail' },
    ),
  );
}

/** In the order in which they are written; the number of questions comes last. */
function byId(a: Scored, b: Scored): number {
  return a.question.id < b.question.id ? -1 : Number(a.question.id > b.question.id);
}

function numbers(groups: readonly Scored[], { also }: MeasureOptions): NamedNumbers {
  const named = Object.entries(evaluation(groups)).map(
    ([key, value]) => [NAMES[key as keyof typeof NAMES], value] as const,
  );
  return { ...behaviour(groups), ...also?.(groups), ...Object.fromEntries(named) };
}
