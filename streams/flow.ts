/**
 * A flow: the parts of a graph, sorted by kind. Plain data; `runFlow` runs it.
 */
import { MillraceError } from '../base/index.ts';
import type { Feedback } from './feedback.ts';
import type { Source, Stage } from './stage.ts';

/** What a graph is made of: what `stage`, `sink`, `source` and `feedback` return. */
export type Part = Stage | Source | Feedback<unknown>;

/** A graph as plain data, upstream first. `runFlow` runs it. */
export interface Flow {
  readonly stages: readonly Stage[];
  readonly sources: readonly Source[];
  /** Loops: those that a sink closes, and those that are listed explicitly. */
  readonly feedbacks: readonly Feedback<unknown>[];
}

export interface PartNames {
  /** Only these stages and sources. */
  readonly only?: readonly string[];
  /** All except these. */
  readonly except?: readonly string[];
}

/**
 * A part of a flow, for one of several processes that share its topics. Feedbacks stay: they only listen.
 * Fails with code `FLOW`, listing the names that exist, if no stage or source has a given name.
 */
export function partOf(whole: Flow, { only, except = [] }: PartNames): Flow {
  const names = [...whole.sources, ...whole.stages].map(({ name }) => name);
  const unknown = [...(only ?? []), ...except].find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new MillraceError(
      'FLOW',
      `the flow has no stage or source named ${unknown}; it has ${names.join(', ')}`,
    );
  }
  const wanted = ({ name }: { readonly name: string }): boolean =>
    (only === undefined || only.includes(name)) && !except.includes(name);
  return {
    stages: whole.stages.filter(wanted),
    sources: whole.sources.filter(wanted),
    feedbacks: whole.feedbacks,
  };
}

/** What a part of a flow leaves to other processes. */
export function restOf(whole: Flow, part: Flow): Pick<Flow, 'stages' | 'sources'> {
  return {
    stages: whole.stages.filter((stage) => !part.stages.includes(stage)),
    sources: whole.sources.filter((source) => !part.sources.includes(source)),
  };
}

/**
 * Collects parts, upstream first; a flow among them brings its own (a job is put together from phases), and a
 * part that comes twice counts once. A feedback that no sink of this flow closes (of a stage that runs
 * elsewhere) is listed by itself. Fails with code `FLOW` when two parts have one name.
 */
export function flow(...given: readonly (Part | Flow)[]): Flow {
  const parts = [...new Set(given.flatMap(partsOf))];
  const stages = parts.filter((part) => part.kind === 'stage');
  const sources = parts.filter((part) => part.kind === 'source');
  const loops = [
    ...parts.filter((part) => part.kind === 'feedback'),
    ...stages.flatMap((part) => part.feedback ?? []),
  ];
  const names = [...stages, ...sources].map((part) => part.name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    throw new MillraceError('FLOW', `the flow has two parts named ${twice}; rename one`);
  }
  return { stages, sources, feedbacks: [...new Set(loops)] };
}

function partsOf(given: Part | Flow): readonly Part[] {
  return 'kind' in given ? [given] : [...given.stages, ...given.sources, ...given.feedbacks];
}
