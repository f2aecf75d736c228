/**
 * What each kind of training added: a small ablation table. Consecutive rounds that train on the same kind of
 * data (demonstrations, preference pairs, groups of rollouts) are one phase, measured after the last of them.
 */
import type { Evaluation } from '../operators/metrics/index.ts';
import type { BatchKind } from '../topics/index.ts';

type Kinds = ReadonlyMap<number, BatchKind>;

export interface Phase {
  readonly name: string;
  /** The round after which it is measured. */
  readonly round: number;
  /** How many rounds it took. */
  readonly rounds: number;
  readonly measured: Evaluation;
  /** The measurement before it; null for the base. */
  readonly before: Evaluation | null;
}

const phaseNames: Readonly<Record<BatchKind, string>> = {
  sft: '+ fine-tuning',
  dpo: '+ preferences',
  policy: '+ RL',
};

/** From the evaluations by round, ascending. A round whose steps are unknown is a phase of its own. */
export function phasesOf(measured: ReadonlyMap<number, Evaluation>, kinds: Kinds): Phase[] {
  const phases: Phase[] = [];
  let open: { readonly kind: BatchKind | undefined; readonly count: number } | null = null;
  for (const [round, evaluation] of measured) {
    const kind = round === 0 ? undefined : kinds.get(round);
    const joined = open !== null && kind !== undefined && open.kind === kind ? open : null;
    const last = joined === null ? phases.at(-1) : phases.pop();
    const count: number = joined === null ? 1 : joined.count + 1;
    phases.push({
      name: nameOf(round, kind, count),
      round,
      rounds: count,
      measured: evaluation,
      before: (joined === null ? last?.measured : last?.before) ?? null,
    });
    open = { kind, count };
  }
  return phases;
}

function nameOf(round: number, kind: BatchKind | undefined, count: number): string {
  if (round === 0) return 'base';
  if (kind === undefined) return `round ${round}`;
  return count === 1 ? phaseNames[kind] : `${phaseNames[kind]}, ${count} rounds`;
}

const roundWords: Readonly<Record<BatchKind, string>> = {
  sft: 'fine-tuning',
  dpo: 'preferences',
  policy: 'round',
};

/** Names of rounds: rounds of RL are counted, others too if there are several. */
export function roundNames(rounds: readonly number[], kinds: Kinds): ReadonlyMap<number, string> {
  const names = new Map<number, string>();
  const counts = new Map<BatchKind, number>();
  for (const round of rounds) {
    const kind = kinds.get(round);
    if (kind === undefined) continue;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    const word = roundWords[kind];
    names.set(round, kind === 'policy' || count > 1 ? `${word} ${count}` : word);
  }
  return names;
}
