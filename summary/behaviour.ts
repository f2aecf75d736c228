/** The five numbers of tool-use behaviour (ET-Agent), those of its radar chart. */
import { behaviour, evaluation, type TableNumbers } from '../operators/metrics/index.ts';
import type { Scored } from '../topics/index.ts';

/** Null = not measured. All but `reasoningLength` are shares, 0 to 1. */
export type Behaviour = Pick<TableNumbers, 'correctness' | 'efficiency'> & {
  readonly [K in 'conciseness' | 'successfulExecution' | 'reasoningLength']: number | null;
};

/** Of the scored groups of a run's own evaluation, by its own accuracy. */
export function behaviourOf(groups: readonly Scored[]): Behaviour {
  const { accuracy, efficiency } = evaluation(groups);
  const known = behaviour(groups);
  const number = (name: string): number | null => known[`eval/${name}`] ?? null;
  return {
    correctness: accuracy,
    efficiency,
    conciseness: number('conciseness'),
    successfulExecution: number('successful_execution'),
    reasoningLength: number('reasoning_length'),
  };
}
