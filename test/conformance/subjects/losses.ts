/**
 * Losses. What a graph of the product computes is computed by it, fed by the product too, in float64; the
 * plain writing of test/oracles must agree, and gives what no graph has (the fractions of the dual clip,
 * say).
 */

import type { Matrix } from '../../../model/credit/matrix.ts';
import type { NamedLoss, SettingsOf } from '../../../model/losses/losses.ts';
import type { KlEstimate } from '../../../model/losses/parts/terms.ts';
import { dpoLoss, labelledLogProb, type PreferencePairs } from '../../oracles/dpo.ts';
import { entropyAwareAdvantages } from '../../oracles/entropyAware.ts';
import { type KlKind, klEstimate } from '../../oracles/kl.ts';
import { type PolicyLossInput, policyLoss } from '../../oracles/policyLoss.ts';
import { type LossGraphs, lossGraphs, widthFactor } from '../../support/lossGraph.ts';
import { compare } from '../compare.ts';
import { type CaseContext, oracle, Part, type Subjects, subjectWith } from '../subject.ts';

interface KlArgs {
  readonly kind: KlKind;
  readonly logProbs: readonly number[];
  readonly refLogProbs: readonly number[];
}
interface EntropyArgs {
  readonly advantages: Matrix;
  readonly entropies: Matrix;
  readonly mask: Matrix;
}
interface LogpsArgs {
  readonly logits: readonly Matrix[];
  readonly labels: Matrix;
}

export const lossSubjects: Subjects = {
  'policy-loss': subjectWith(lossGraphs, async (input: PolicyLossInput, graphs, context) => {
    const { gradient: _, ...plain } = policyLoss(input);
    if (dividesByNothing(input)) {
      context.by('detour', NOTHING);
      return plain;
    }
    const { loss, numbers } = await clipped(input, graphs);
    const guard = guarded(input.mask);
    const found = {
      loss,
      clipFraction: numbers['clip/fraction']! * guard,
      klApprox: numbers['kl/behaviour']! * guard,
    };
    const { loss: plainLoss, clipFraction, klApprox } = plain;
    return new Part(agreed(found, { loss: plainLoss, clipFraction, klApprox }, context));
  }),
  'arpo-loss-gradient': subjectWith(lossGraphs, (input: PolicyLossInput, graphs, context) =>
    lossAndGradient(input, graphs, context),
  ),
  'aepo-loss': subjectWith(lossGraphs, (input: PolicyLossInput, graphs, context) =>
    lossAndGradient({ ...input, entropyBalanced: true }, graphs, context),
  ),
  'aepo-advantage': subjectWith(lossGraphs, (args: EntropyArgs, graphs, context) =>
    bentAdvantages(args, graphs, context),
  ),
  kl: subjectWith(lossGraphs, (args: KlArgs, graphs, context) =>
    divergences(args, graphs, context),
  ),
  'dpo-loss': subjectWith(lossGraphs, (pairs: PreferencePairs, graphs, context) =>
    preferences(pairs, graphs, context),
  ),
  'dpo-logps': oracle<LogpsArgs>('log-probs are summed inside the graph', ({ logits, labels }) => {
    const found = labels.map((row, i) => labelledLogProb(logits[i]!, row));
    return { logps: found.map((item) => item.logProb), counts: found.map((item) => item.count) };
  }),
};

/** `found`, which the plain writing must say too. */
function agreed<T>(found: T, plain: T, { file }: CaseContext): T {
  const { difference } = compare(found, plain, file.tolerance);
  if (difference !== null) throw new Error(`graph and plain writing differ: ${difference}`);
  return found;
}

const NOTHING =
  'a sequence without targets counts as 0, where the reference divides by its 0 tokens';

/**
 * The reference divides by the tokens of each sequence, and has NaN where there are none; ours counts it as
 * 0.
 */
function dividesByNothing({ mask, aggregation }: PolicyLossInput): boolean {
  return aggregation === 'seq-mean-token-mean' && mask.some((row) => !row.includes(1));
}

/** The reference divides by the number of tokens and 1e-8. */
function guarded(mask: Matrix): number {
  const count = mask.flat().filter((on) => on === 1).length;
  return Math.max(1, count) / (count + 1e-8);
}

async function clipped(input: PolicyLossInput, graphs: LossGraphs) {
  const { clipLow, clipHigh, clipC, aggregation, entropyBalanced = false } = input;
  const aepo = { clipping: entropyBalanced };
  const settings = { clipLow, clipHigh, clipC, aggregation, aepo };
  const got = await graphs.run({ name: 'clipped', settings } satisfies NamedLoss, input);
  const factor = widthFactor(input.mask, aggregation);
  return {
    loss: got.loss / factor,
    gradient: got.gradient.map((row) => row.map((slope) => slope / factor)),
    numbers: got.numbers,
  };
}

async function lossAndGradient(
  input: PolicyLossInput,
  graphs: LossGraphs,
  context: CaseContext,
): Promise<unknown> {
  const plain = policyLoss(input);
  const wanted = { loss: plain.loss, gradient: plain.gradient };
  if (dividesByNothing(input)) {
    context.by('detour', NOTHING);
    return wanted;
  }
  const { loss, gradient } = await clipped(input, graphs);
  return agreed({ loss, gradient }, wanted, context);
}

/** At the policy that sampled, a token's slope is minus its advantage times its weight. */
async function bentAdvantages(
  { advantages, entropies, mask }: EntropyArgs,
  graphs: LossGraphs,
  context: CaseContext,
): Promise<unknown> {
  const plain = entropyAwareAdvantages(advantages, entropies, mask, { mode: 'reference' });
  const count = mask.flat().filter((on) => on === 1).length;
  // the reference has NaN for one token, ours keeps its advantage
  if (count < 2) {
    context.by('detour', 'a single token keeps its advantage, where the reference has NaN');
    return plain;
  }
  const settings: SettingsOf<'clipped'> = { aepo: { advantageWeight: 0.2 } };
  const zeros = mask.map((row) => row.map(() => 0));
  const policies = { logProbs: zeros, oldLogProbs: zeros };
  const given = { ...policies, advantages, entropies, mask };
  const { gradient } = await graphs.run({ name: 'clipped', settings }, given);
  const found = plain.map((row, i) =>
    row.map((own, t) => (mask[i]![t] === 1 ? -gradient[i]![t]! * (count + 1e-8) : own)),
  );
  return agreed(found, plain, context);
}

const estimates: Readonly<Record<KlKind, KlEstimate>> = {
  kl: 'k1',
  k1: 'k1',
  abs: 'abs',
  mse: 'k2',
  k2: 'k2',
  low_var_kl: 'k3',
  k3: 'k3',
};

/** A token at a time, with nothing but the divergence in the loss. */
async function divergences(
  { kind, logProbs, refLogProbs }: KlArgs,
  graphs: LossGraphs,
  context: CaseContext,
): Promise<unknown> {
  const settings: SettingsOf<'clipped'> = {
    aggregation: 'seq-mean-token-sum',
    kl: { kind: estimates[kind], coefficient: 1 },
  };
  const found: number[] = [];
  for (const [i, logProb] of logProbs.entries()) {
    const own = { logProbs: [[logProb]], oldLogProbs: [[logProb]], mask: [[1]] };
    const given = { ...own, advantages: [[0]], refLogProbs: [[refLogProbs[i]!]] };
    found.push((await graphs.run({ name: 'clipped', settings }, given)).loss);
  }
  const plain = logProbs.map((logProb, i) => klEstimate(kind, logProb, refLogProbs[i]!));
  return agreed(found, plain, context);
}

/** Responses of one token, whose log-prob is the response's. */
async function preferences(
  pairs: PreferencePairs,
  graphs: LossGraphs,
  context: CaseContext,
): Promise<unknown> {
  const byTurns = (chosen: readonly number[], rejected: readonly number[]) =>
    chosen.flatMap((value, pair) => [[value], [rejected[pair]!]]);
  const logProbs = byTurns(pairs.policyChosen, pairs.policyRejected);
  const loss = { name: 'dpo', settings: { beta: pairs.beta } } satisfies NamedLoss;
  const got = await graphs.run(loss, {
    logProbs,
    refLogProbs: byTurns(pairs.refChosen, pairs.refRejected),
    mask: logProbs.map(() => [1]),
  });
  const slopes = (odd: number) =>
    got.gradient.flatMap((row, i) => (i % 2 === odd ? [row[0]!] : []));
  const gradients = { policyChosen: slopes(0), policyRejected: slopes(1) };
  return agreed({ loss: got.loss, gradients }, dpoLoss(pairs), context);
}
