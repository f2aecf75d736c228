/**
 * A flow: the parts of a graph, sorted by kind. Plain data; `runFlow` runs it.
 */
import { MillraceError } from './errors.ts';
import type { Feedback } from './feedback.ts';
import type { Source, Stage } from './stage.ts';

export type Part = Stage | Source | Feedback<unknown>;

export interface Flow {
  readonly stages: readonly Stage[];
  readonly sources: readonly Source[];
  /** Loops: those that a sink closes, and those listed by themselves. */
  readonly feedbacks: readonly Feedback<unknown>[];
}

/**
 * Collects parts, upstream first. A feedback that no sink of this flow closes (the weights of a trainer
 * that runs elsewhere) is listed by itself. Fails with code `FLOW` when two parts have one name.
 */
export function flow(...parts: readonly Part[]): Flow {
  const stages = parts.filter((part) => part.kind === 'stage');
  const sources = parts.filter((part) => part.kind === 'source');
  const loops = [
    ...parts.filter((part) => part.kind === 'feedback'),
    ...stages.flatMap((part) => part.feedback ?? []),
  ];
  const names = [...stages, ...sources].map((part) => part.name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    throw new MillraceError('FLOW', `two parts of the flow are named ${twice}; rename one`);
  }
  return { stages, sources, feedbacks: [...new Set(loops)] };
}
