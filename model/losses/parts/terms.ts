/**
 * What may be added to a loss over rollouts: a divergence from a reference policy, and a reward for entropy.
 *
 * Both are sums over the target tokens with the weights of the aggregation alone, so importance weights do
 * not touch them and micro-batches add up (ARPO reference §7.2, §7.5).
 */
import { z } from 'zod';
import type { Value } from '../../graph/graph.ts';
import type { Judged } from '../../graph/layers.ts';
import { add, multiply, subtract, sum } from '../../graph/ops.ts';
import type { Feeds } from '../../runtime/session.ts';
import type { TargetSequence } from '../loss.ts';
import { checkReferences, perTarget, references, scalar } from './feeds.ts';

/** Their settings. A term of strength 0 is left out, and costs nothing. */
export const termSettings = {
  kl: z
    .object({
      kind: z
        .enum(['k1', 'abs', 'k2', 'k3'])
        .default('k3')
        .describe('estimator of the KL divergence'),
      coefficient: z
        .number()
        .nonnegative()
        .default(0)
        .describe('weight of the KL divergence from the first policy; 0 = none'),
    })
    .prefault({}),
  entropyCoefficient: z
    .number()
    .nonnegative()
    .default(0)
    .describe('weight of the entropy bonus; 0 = none'),
};

/** Strengths of the two terms; 0 leaves a term out. */
export interface TermSettings {
  readonly kl: { readonly kind: KlEstimate; readonly coefficient: number };
  readonly entropyCoefficient: number;
}

/**
 * Estimate per token, d = logProb - refLogProb: k1 = d, abs = |d|, k2 = d^2 / 2, k3 = e^-d + d - 1 (at most
 * 10).
 */
export type KlEstimate = 'k1' | 'abs' | 'k2' | 'k3';

/** The terms in use; each makes another graph. */
export interface Terms {
  readonly kl: KlEstimate | null;
  readonly entropy: boolean;
}

/** The terms whose strength is above 0. */
export function termsOf({ kl, entropyCoefficient }: TermSettings): Terms {
  return { kl: kl.coefficient > 0 ? kl.kind : null, entropy: entropyCoefficient > 0 };
}

/** The feeds of `withTerms`; `weight` = that of a row's tokens by the aggregation alone. */
export function termFeeds(
  sequences: readonly TargetSequence[],
  settings: TermSettings,
  weight: (row: number) => number,
): (rows: readonly number[]) => Feeds {
  const { kl, entropy } = termsOf(settings);
  if (kl !== null) checkReferences(sequences);
  return (rows) => ({
    ...(kl === null ? {} : { refLogProbs: references(sequences, rows) }),
    ...(kl === null && !entropy ? {} : { termWeights: perTarget(sequences, rows, weight) }),
    ...(kl === null ? {} : { klCoefficient: scalar(settings.kl.coefficient) }),
    ...(entropy ? { entropyCoefficient: scalar(settings.entropyCoefficient) } : {}),
  });
}

/** k3 is held within this, as in the reference; it gets no gradient beyond. */
const K3_MAX = 10;

/**
 * Estimate of KL(policy, reference) per token [M], with d = logProb - refLogProb: k1 = d, abs = |d|, k2 = d^2
 * / 2, k3 = e^-d + d - 1, at most 10. Its gradient is that of the estimate itself.
 */
export function klPerToken(kind: KlEstimate, logProbs: Value, refLogProbs: Value): Value {
  const { graph, shape } = logProbs;
  const node = (op: string, ...operands: Value[]) => graph.node(op, operands, shape);
  const d = subtract(logProbs, refLogProbs);
  const one = graph.scalar(1);
  switch (kind) {
    case 'k1':
      return d;
    case 'abs':
      return graph.derive(node('Abs', d), [d], (g) => [node('Mul', g, node('Sign', d))]);
    case 'k2':
      return multiply(multiply(d, d), graph.scalar(0.5));
    case 'k3': {
      const down = node('Exp', node('Neg', d));
      const most = graph.scalar(K3_MAX);
      const whole = node('Sub', node('Add', down, d), one);
      const within = graph.node('LessOrEqual', [whole, most], shape, { type: 'bool' });
      return graph.derive(node('Min', whole, most), [d], (g) => {
        const slope = node('Mul', g, node('Sub', one, down));
        const inputs = [within, slope, graph.scalar(0)];
        return [graph.node('Where', inputs, shape, { type: graph.float })];
      });
    }
    default:
      throw new Error(`unknown estimate '${kind satisfies never}': use k1, abs, k2 or k3`);
  }
}

/**
 * loss + klCoefficient * sum(w * kl) - entropyCoefficient * sum(w * H). Inputs, where their term is there:
 * `termWeights` [M], `refLogProbs` [M], and the scalars `klCoefficient` and `entropyCoefficient`.
 */
export function withTerms(loss: Value, judged: Judged, { kl, entropy }: Terms): Value {
  if (kl === null && !entropy) return loss;
  const { graph } = loss;
  const vector = (name: string) => graph.input(name, graph.float, ['M']);
  const weights = vector('termWeights');
  const term = (values: Value, coefficient: string) =>
    multiply(sum(multiply(weights, values)), graph.input(coefficient, graph.float, []));
  let total = loss;
  if (kl !== null) {
    const estimate = klPerToken(kl, judged.logProbs, vector('refLogProbs'));
    total = add(total, term(estimate, 'klCoefficient'));
  }
  return entropy ? subtract(total, term(judged.entropies, 'entropyCoefficient')) : total;
}
