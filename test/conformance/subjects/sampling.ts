/**
 * Pareto sampling, step entropy and branching decisions.
 */
import {
  type AepoOptions,
  aepoDecision,
  aepoInitialRollouts,
} from '../../../operators/sampling/aepo.ts';
import { arpoDecision } from '../../../operators/sampling/arpo.ts';
import { dispersion, isMixed } from '../../../operators/sampling/dispersion.ts';
import type { Point } from '../../../operators/sampling/fronts.ts';
import { paretoSelect } from '../../../operators/sampling/pareto.ts';
import { stepEntropy } from '../../../operators/sampling/stepEntropy.ts';
import { type Subjects, subject } from '../subject.ts';

interface Candidate {
  readonly id: string;
  readonly source: string;
  readonly totalTimes: readonly number[];
  readonly correctness: readonly number[];
}
interface ParetoArgs {
  readonly population: readonly Candidate[];
  readonly count: number;
}
interface BranchArgs extends AepoOptions {
  readonly deltaEntropy: number;
  readonly draw: number;
  readonly consecutive: number;
}
interface BudgetArgs {
  readonly n: number;
  readonly rootEntropy: number;
  readonly toolEntropies: readonly number[];
}
interface EntropyArgs {
  readonly topLogprobs: readonly (readonly number[])[];
  readonly vocabSize: number;
}

export const samplingSubjects: Subjects = {
  'pareto-select': subject<ParetoArgs>(({ population, count }) => select(population, count)),
  'step-entropy': subject<EntropyArgs>(({ topLogprobs, vocabSize }) =>
    stepEntropy(topLogprobs, vocabSize),
  ),
  'arpo-branch': subject<BranchArgs>((args) => arpoDecision(args, args.deltaEntropy, args.draw)),
  'aepo-branch': subject<BranchArgs>((args) =>
    aepoDecision(args, args.deltaEntropy, args.consecutive, args.draw),
  ),
  'aepo-budget': subject<BudgetArgs>(({ n, rootEntropy, toolEntropies }) =>
    aepoInitialRollouts(n, rootEntropy, toolEntropies),
  ),
};

/** Sources whose questions the selection counts as mathematics. */
const mathSources = ['openr1', 'numina-tir', 'numina-cot', 'aime', 'dapo', 'still'];

function select(population: readonly Candidate[], count: number): unknown {
  const points = population.map(
    (candidate): Point => [dispersion(candidate.totalTimes), dispersion(candidate.correctness)],
  );
  const { ranks, distances, selected } = paretoSelect(points, count);
  const byId = (value: (index: number) => unknown) =>
    Object.fromEntries(population.map((candidate, i) => [candidate.id, value(i)]));
  const crowded = population.flatMap((candidate, i) =>
    distances[i] === null ? [] : [[candidate.id, distances[i]]],
  );
  const kept = selected.filter((i) => {
    const { correctness, source } = population[i]!;
    return isMixed(correctness, mathSources.includes(source) ? 'math' : 'qa');
  });
  return {
    ranks: byId((i) => ranks[i]),
    scores: byId((i) => points[i]),
    selected: selected.map((i) => population[i]!.id),
    kept: kept.map((i) => population[i]!.id),
    distances: Object.fromEntries(crowded),
  };
}
