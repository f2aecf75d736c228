/**
 * Advantages per token: the estimators that look at rewards, values or baselines of single tokens
 * (ARPO reference §7.1). Matrices are [sequence][token]; a mask has 1 where a token counts.
 */

import { centredOrOwn } from '../../model/credit/group.ts';
import { type Mask, type Matrix, mapMatrix, whiten } from '../../model/credit/matrix.ts';
import { perGroup, spread } from './batch.ts';

export interface TokenAdvantages {
  readonly advantages: number[][];
  readonly returns: number[][];
}

export interface GaeInput {
  readonly rewards: Matrix;
  /** Value estimates of the same tokens. */
  readonly values: Matrix;
  readonly mask: Mask;
  readonly gamma: number;
  readonly lambda: number;
}

/**
 * Generalised advantage estimation: δ = r + γV' - V, Â = δ + γλÂ'. Returns are Â + V; the advantages are
 * whitened over the masked tokens afterwards.
 */
export function gae({ rewards, values, mask, gamma, lambda }: GaeInput): TokenAdvantages {
  const raw = rewards.map((row, i) => {
    const value = values[i]!;
    return scanBackwards(row, (reward, t, later) => {
      const delta = reward + gamma * (value[t + 1] ?? 0) - value[t]!;
      return delta + gamma * lambda * later;
    });
  });
  const returns = mapMatrix(raw, (advantage, i, t) => advantage + values[i]![t]!);
  return { advantages: whiten(raw, mask), returns };
}

/** REINFORCE++: discounted returns that start over before an unselected token, whitened. */
export function reinforcePlusPlus(rewards: Matrix, mask: Mask, gamma: number): TokenAdvantages {
  const returns = rewards.map((row, i) =>
    scanBackwards(row, (reward, t, later) => reward + gamma * later * (mask[i]![t + 1] ?? 0)),
  );
  const advantages = mapMatrix(whiten(returns, mask), (item, i, t) => item * mask[i]![t]!);
  return { advantages, returns };
}

/** REINFORCE++-baseline: scores minus their group's mean, whitened over the selected tokens of the batch. */
export function reinforcePlusPlusBaseline(
  scores: readonly number[],
  groups: readonly (string | number)[],
  mask: Mask,
): number[][] {
  const centred = perGroup(centredOrOwn, scores, groups);
  const whitened = whiten(spread(centred, mask), mask);
  return mapMatrix(whitened, (item, i, t) => item * mask[i]![t]!);
}

/** ReMax: the sum of the selected rewards from a token on, minus the score of a greedy response. */
export function remax(rewards: Matrix, baselines: readonly number[], mask: Mask): TokenAdvantages {
  const returns = rewards.map((row, i) =>
    scanBackwards(row, (reward, t, later) => reward * mask[i]![t]! + later),
  );
  const advantages = mapMatrix(returns, (item, i, t) => item - baselines[i]! * mask[i]![t]!);
  return { advantages, returns };
}

/** From the last token to the first; `later` is the result of the token after it, 0 at the end. */
function scanBackwards(
  row: readonly number[],
  step: (item: number, token: number, later: number) => number,
): number[] {
  const result = new Array<number>(row.length).fill(0);
  for (let t = row.length - 1; t >= 0; t--) result[t] = step(row[t]!, t, result[t + 1] ?? 0);
  return result;
}
