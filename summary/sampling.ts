/**
 * How the held-out questions of a run are sampled, from its settings: an accuracy means little without it.
 */
import { type Sampling, samplingIn } from '../model/index.ts';
import type { RunFacts } from './facts/facts.ts';

const names = ['temperature', 'topP', 'topK', 'minP', 'repetitionPenalty'] as const;

/** Null if the job's settings do not say. */
export function samplingOf({ settings }: Pick<RunFacts, 'settings'>): Required<Sampling> | null {
  const known = names.flatMap((name) =>
    typeof settings[name] === 'number' ? [[name, settings[name]] as const] : [],
  );
  const given = Object.fromEntries(known) as Partial<Sampling>;
  return given.temperature === undefined ? null : samplingIn(given as Sampling);
}
