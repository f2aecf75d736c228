/**
 * Which settings of a run changed while it went on, and from which step each holds: read from its `control`
 * and `weights` topics.
 */
import { type Log, recordsOf } from '../../streams/index.ts';
import { type ControlRecord, firstStepOf, topics } from '../../topics/index.ts';

/** One change of a setting. */
export interface Change {
  readonly setting: string;
  readonly value: unknown;
  readonly by: string;
  readonly askedMs: number;
  /** The first optimiser step made with it; null while no manifest counts it. */
  readonly step: number | null;
}

/** The commands to the run, in order; each request once. */
export async function controlsOf(log: Log): Promise<readonly ControlRecord[]> {
  const found = new Map<string, ControlRecord>();
  for await (const { value } of recordsOf(log, topics.control, { from: { kind: 'earliest' } })) {
    if (!found.has(value.id)) found.set(value.id, value);
  }
  return [...found.values()];
}

/** All changes, oldest first. */
export async function changesOf(log: Log, lagMax: number): Promise<readonly Change[]> {
  const sets = (await controlsOf(log)).filter(({ kind }) => kind === 'set');
  if (sets.length === 0) return [];
  const steps: number[] = [];
  for await (const { value } of recordsOf(log, topics.weights, { from: { kind: 'earliest' } })) {
    while (steps.length < value.controls) steps.push(firstStepOf(value.version, lagMax));
  }
  return sets.map(({ setting, value, by, askedMs }, i) => ({
    ...{ setting, value: JSON.parse(value) as unknown, by, askedMs },
    step: steps[i] ?? null,
  }));
}

/** `lagMax` from a run's settings; 0 if its job has none. */
export function lagMaxOf(settings: Readonly<Record<string, unknown>>): number {
  return typeof settings.lagMax === 'number' ? settings.lagMax : 0;
}
