/**
 * What each kind of training added: the ablation table in small. Stages one after the other that train on the same kind of
 * data (demonstrations, preference pairs, groups of rollouts) are one phase, measured after the last of them.
 */
import type { Evaluation } from '../../operators/metrics/evaluation.ts';
import type { BatchKind } from '../../streams/records.ts';
import { type Figure, figures } from './figures.ts';

type Kinds = ReadonlyMap<number, BatchKind>;

export interface Phase {
  readonly name: string;
  /** The stage after which it is measured. */
  readonly stage: number;
  readonly measured: Evaluation;
  /** The measurement before it; null for the base. */
  readonly before: Evaluation | null;
}

const phaseNames: Readonly<Record<BatchKind, string>> = {
  sft: '+ fine-tuning',
  dpo: '+ preferences',
  policy: '+ RL',
};

/** From the stages that are measured, ascending. A stage whose steps are unknown is a phase of its own. */
export function phasesOf(
  stages: readonly number[],
  kinds: Kinds,
  measured: (stage: number) => Evaluation,
): Phase[] {
  const phases: Phase[] = [];
  let open: { kind: BatchKind | undefined; count: number } | null = null;
  for (const stage of stages) {
    const kind = stage === 0 ? undefined : kinds.get(stage);
    const goesOn = open !== null && kind !== undefined && open.kind === kind;
    const last = goesOn ? phases.pop() : phases.at(-1);
    const count: number = goesOn ? open!.count + 1 : 1;
    phases.push({
      name: nameOf(stage, kind, count),
      stage,
      measured: measured(stage),
      before: (goesOn ? last?.before : last?.measured) ?? null,
    });
    open = { kind, count };
  }
  return phases;
}

function nameOf(stage: number, kind: BatchKind | undefined, count: number): string {
  if (stage === 0) return 'base';
  if (kind === undefined) return `stage ${stage}`;
  return count === 1 ? phaseNames[kind] : `${phaseNames[kind]}, ${count} rounds`;
}

const stageWords: Readonly<Record<BatchKind, string>> = {
  sft: 'fine-tuning',
  dpo: 'preferences',
  policy: 'round',
};

/** What each stage is called: rounds of RL are counted, others too where there is more than one. */
export function stageNames(stages: readonly number[], kinds: Kinds): ReadonlyMap<number, string> {
  const names = new Map<number, string>();
  const counts = new Map<BatchKind, number>();
  for (const stage of stages) {
    const kind = kinds.get(stage);
    if (kind === undefined) continue;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    const word = stageWords[kind];
    names.set(stage, kind === 'policy' || count > 1 ? `${word} ${count}` : word);
  }
  return names;
}

/** The figures of the table: those that training may change. */
export const phaseFigures: readonly Figure[] = figures.filter(({ better }) => better !== 0);

/** A figure after the phase and, in brackets, what the phase made of it. */
export function phaseCell({ measured, before }: Phase, { key, show }: Figure): string {
  if (before === null) return show(measured[key]);
  const difference = measured[key] - before[key];
  const sign = difference < 0 ? '−' : '+';
  return `${show(measured[key])} (${sign}${show(Math.abs(difference))})`;
}

/** One kind of training is told by before and after already. */
export function tellsPhases({ phases }: { readonly phases: readonly Phase[] }): boolean {
  return phases.length > 2;
}
