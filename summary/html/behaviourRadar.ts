/**
 * The radar of tool-use behaviour (ET-Agent's figure of five metrics): correctness, efficiency, conciseness,
 * successful execution, reasoning length. With fewer its shape would mean nothing: the table has the numbers.
 */

import type { Behaviour } from '../behaviour.ts';
import { fixed, hundred } from '../format/numbers.ts';
import type { Html } from './html.ts';
import { type RadarAxis, radar, roundedUp } from './radar.ts';

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

/** Null if one of the five numbers is unknown. */
export function behaviourRadar(title: string, series: readonly NamedBehaviour[]): Html | null {
  const known = axes.filter(({ key }) => series.some(({ numbers }) => numbers[key] !== null));
  if (known.length < axes.length) return null;
  const drawn = known.map(({ key, label }): RadarAxis => {
    if (key !== 'reasoningLength') return { label, max: 1, rim: '100', show: hundred };
    const max = roundedUp(series.map(({ numbers }) => numbers[key]));
    return { label, max, rim: String(max), show: fixed(2) };
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
