/**
 * The radar of tool-use behaviour (ET-Agent, its figure of five metrics): correctness, efficiency, conciseness, successful
 * execution, reasoning length. An axis that nobody measured is left out.
 */
import { behaviour } from '../../operators/metrics/behaviour.ts';
import { evaluation } from '../../operators/metrics/evaluation.ts';
import type { TableNumbers } from '../../operators/metrics/table.ts';
import type { Scored } from '../../streams/records.ts';
import type { Html } from './html.ts';
import { type RadarAxis, radar, roundedUp } from './radar.ts';

export type Behaviour = Pick<TableNumbers, 'correctness' | 'efficiency'> & {
  readonly [K in 'conciseness' | 'successfulExecution' | 'reasoningLength']: number | null;
};

export interface NamedBehaviour {
  readonly name: string;
  readonly numbers: Behaviour;
}

const axes: readonly { readonly key: keyof Behaviour; readonly label: string }[] = [
  { key: 'correctness', label: 'correctness' },
  { key: 'efficiency', label: 'efficiency' },
  { key: 'conciseness', label: 'conciseness' },
  { key: 'successfulExecution', label: 'successful execution' },
  { key: 'reasoningLength', label: 'reasoning length' },
];

const hundred = (value: number): string => (100 * value).toFixed(1);

/** Of a run's own evaluation, by its own accuracy. */
export function stageBehaviour(groups: readonly Scored[]): Behaviour {
  const { accuracy, efficiency } = evaluation(groups);
  const told = behaviour(groups);
  const number = (name: string): number | null => told[`eval/${name}`] ?? null;
  return {
    correctness: accuracy,
    efficiency,
    conciseness: number('conciseness'),
    successfulExecution: number('successful_execution'),
    reasoningLength: number('reasoning_length'),
  };
}

/** Null where fewer than three of the numbers are known. */
export function behaviourRadar(title: string, series: readonly NamedBehaviour[]): Html | null {
  const known = axes.filter(({ key }) => series.some(({ numbers }) => numbers[key] !== null));
  const drawn = known.map(({ key, label }): RadarAxis => {
    if (key !== 'reasoningLength') return { label, max: 1, rim: '100', show: hundred };
    const max = roundedUp(series.map(({ numbers }) => numbers[key]));
    return { label, max, rim: String(max), show: (value) => value.toFixed(2) };
  });
  return radar({
    title,
    axes: drawn,
    series: series.map(({ name, numbers }) => ({
      name,
      values: known.map(({ key }) => numbers[key]),
    })),
  });
}
