/**
 * What each kind of training added: the ablation table in small. Stages one after the other that train on the same kind of
 * data (demonstrations, preference pairs, groups of rollouts) are one phase, measured after the last of them.
 */
import type { Evaluation } from '../operators/metrics/evaluation.ts';
import type { BatchKind } from '../topics/index.ts';

type Kinds = ReadonlyMap<number, BatchKind>;

export interface Phase {
  readonly name: string;
  /** The stage after which it is measured. */
  readonly stage: number;
  /** How many stages it took. */
  readonly stages: number;
  readonly measured: Evaluation;
  /** The measurement before it; null for the base. */
  readonly before: Evaluation | null;
}

const phaseNames: Readonly<Record<BatchKind, string>> = {
  sft: '+ fine-tuning',
  dpo: '+ preferences',
  policy: '+ RL',
};

/** From the evaluations by stage, ascending. A stage whose steps are unknown is a phase of its own. */
export function phasesOf(measured: ReadonlyMap<number, Evaluation>, kinds: Kinds): Phase[] {
  const phases: Phase[] = [];
  let open: { readonly kind: BatchKind | undefined; readonly count: number } | null = null;
  for (const [stage, evaluation] of measured) {
    const kind = stage === 0 ? undefined : kinds.get(stage);
    const joined = open !== null && kind !== undefined && open.kind === kind ? open : null;
    const last = joined === null ? phases.at(-1) : phases.pop();
    const count: number = joined === null ? 1 : joined.count + 1;
    phases.push({
      name: nameOf(stage, kind, count),
      stage,
      stages: count,
      measured: evaluation,
      before: (joined === null ? last?.measured : last?.before) ?? null,
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
