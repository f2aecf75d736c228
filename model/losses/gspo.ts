/**
 * `gspo`: group sequence policy optimisation (Qwen, Zheng et al. 2025, equations 5 to 7 and 13).
 *
 *     s = (π(y) / π_old(y))^(1 / |y|) = exp(mean over the response's tokens of log π - log π_old)
 *     L = max(-A·s, -A·clamp(s, 1 - clipLow, 1 + clipHigh)),   mean over a response's tokens, then over the responses
 *
 * The ratio is that of a whole response, so it is clipped whole or not at all; |y| counts the tokens that the
 * policy wrote. The gradient of a token is that of GSPO-token, -A·s / |y|: where all tokens of a response
 * have one advantage, as without `attribution: 'hard'`, it is the slope of the value above; else each goes
 * with its own. A geometric mean moves little: the clipping ranges are the paper's, 3e-4 and 4e-4 (§5.1).
 */
import { z } from 'zod';
import type { Value } from '../graph/graph.ts';
import { matmul, multiply, reshape, subtract, sum } from '../graph/ops.ts';
import type { Feeds } from '../runtime/session.ts';
import { defineLoss, type TargetSequence } from './loss.ts';
import {
  boundsIn,
  clamped,
  isClipped,
  overRollouts,
  ratioBounds,
  ratioFeeds,
} from './parts/ratio.ts';
import { rolloutInputs, rolloutTally, vectorOf } from './parts/rollouts.ts';
import { termSettings, withTerms } from './parts/terms.ts';

export const gspo = defineLoss({
  settings: z.object({
    clipLow: z
      .number()
      .positive()
      .default(3e-4)
      .describe('how far below 1 a ratio may be before it is clipped'),
    clipHigh: z
      .number()
      .positive()
      .default(4e-4)
      .describe('how far above 1 a ratio may be before it is clipped'),
    ...termSettings,
  }),
  ...overRollouts,
  graph: (judged, terms) => withTerms(sequenceLoss(judged.logProbs), judged, terms),
  feeds(sequences, settings) {
    const shared = ratioFeeds(sequences, settings, 'seq-mean-token-mean');
    return (rows) => ({ ...shared(rows), ...responseFeeds(sequences, rows) });
  },
  /** The tokens of a clipped response count as clipped. */
  tally: () =>
    rolloutTally((feeds, logProbs) => {
      const bounds = boundsIn(feeds);
      const owners = feeds.responses?.data as Int32Array;
      const ratios = ratiosOf(owners, logProbs, vectorOf(feeds, 'oldLogProbs'));
      return ({ index, advantage }) =>
        isClipped(advantage, ratios[owners[index] as number] as number, bounds);
    }),
  trial: {
    clipLow: 0.2,
    clipHigh: 0.2,
    kl: { kind: 'k1', coefficient: 0.1 },
    entropyCoefficient: 0.01,
  },
});

/**
 * sum(weight * L) over the targets [M] of S responses. Inputs besides the rollouts': `means` [S, M] (1 / |y|
 * where the token belongs to the response), `responses` [M] (whose token it is), `ratioMin` and `ratioMax`
 * (scalars).
 */
function sequenceLoss(logProbs: Value): Value {
  const { graph, shape } = logProbs;
  const { weights, advantages, oldLogProbs } = rolloutInputs(graph);
  const means = graph.input('means', graph.float, ['S', 'M']);
  const responses = graph.input('responses', 'int32', ['M']);
  const bounds = ratioBounds(graph);
  const node = (op: string, ...operands: Value[]) => graph.node(op, operands, shape);
  const column = reshape(subtract(logProbs, oldLogProbs), ['M', 1]);
  const logRatios = reshape(matmul(means, column), ['S']);
  const ratio = node('Exp', node('Gather', logRatios, responses));
  const down = node('Neg', advantages);
  const plain = node('Mul', down, ratio);
  const clipped = node('Mul', down, clamped(ratio, bounds));
  const within = graph.node('GreaterOrEqual', [plain, clipped], shape, { type: 'bool' });
  const lossOf = graph.derive(node('Max', plain, clipped), [logProbs], (g) => {
    const slope = graph.node('Where', [within, plain, graph.scalar(0)], shape, {
      type: graph.float,
    });
    return [node('Mul', g, slope)];
  });
  return sum(multiply(weights, lossOf));
}

/** `means` and `responses` of a micro-batch. */
function responseFeeds(sequences: readonly TargetSequence[], rows: readonly number[]): Feeds {
  const counts = rows.map((row) => (sequences[row] as TargetSequence).places.length);
  const tokens = counts.reduce((sum, count) => sum + count, 0);
  const means = new Float64Array(rows.length * tokens);
  const owners = new Int32Array(tokens);
  let at = 0;
  for (const [index, count] of counts.entries()) {
    means.fill(1 / count, index * tokens + at, index * tokens + at + count);
    owners.fill(index, at, at + count);
    at += count;
  }
  return {
    means: { shape: [rows.length, tokens], data: means },
    responses: { shape: [tokens], data: owners },
  };
}

/** s of each response. */
function ratiosOf(
  owners: Int32Array,
  logProbs: ArrayLike<number>,
  old: ArrayLike<number>,
): number[] {
  const sums: number[] = [];
  const counts: number[] = [];
  for (const [index, owner] of owners.entries()) {
    sums[owner] = (sums[owner] ?? 0) + (logProbs[index] as number) - (old[index] as number);
    counts[owner] = (counts[owner] ?? 0) + 1;
  }
  return sums.map((sum, owner) => Math.exp(sum / (counts[owner] as number)));
}
