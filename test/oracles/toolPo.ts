/**
 * ToolPO (DeepAgent §3.3 to §3.5) written out a second time, token by token and slowly: advantages, the
 * surrogate, and its gradient by moving every logit a little. It shares no code with the product.
 */

export interface OracleSpan {
  readonly kind: 'call' | 'search' | 'fold';
  readonly start: number;
  readonly end: number;
}

/**
 * One context of a rollout: what was written in it, and the logits [tokens, vocabulary] of the policy that is
 * trained.
 */
export interface OracleRound {
  readonly tokens: readonly number[];
  readonly logits: readonly (readonly number[])[];
  readonly oldLogProbs: readonly number[];
  /** 1 where the policy wrote the token. */
  readonly mask: readonly number[];
}

export interface OracleRollout {
  readonly success: number;
  readonly action: number;
  /** Offsets into the tokens of all rounds, one after the other. */
  readonly spans: readonly OracleSpan[];
  readonly rounds: readonly OracleRound[];
}

/** A(y) of each token of each rollout, all rounds in a row. */
export function tokenAdvantages(
  group: readonly Omit<OracleRollout, 'rounds'>[],
  lengths: readonly number[],
  search: boolean,
): number[][] {
  return group.map((own, k) => {
    let success = own.success;
    let action = own.action;
    for (const other of group) {
      success -= other.success / group.length;
      action -= other.action / group.length;
    }
    return Array.from({ length: lengths[k]! }, (_, token) => {
      let inside = false;
      for (const { kind, start, end } of own.spans) {
        if (kind === 'search' && !search) continue;
        if (start <= token && token < end) inside = true;
      }
      return inside ? success + action : success;
    });
  });
}

/** min(ρA, clip(ρ, 1-ε, 1+ε)A) */
export function surrogate(ratio: number, advantage: number, epsilon: number): number {
  let held = ratio;
  if (held < 1 - epsilon) held = 1 - epsilon;
  if (held > 1 + epsilon) held = 1 + epsilon;
  return Math.min(ratio * advantage, held * advantage);
}

/** -J: minus the mean over rollouts of the sum over all their tokens. */
export function toolPoLoss(
  group: readonly OracleRollout[],
  epsilon: number,
  search: boolean,
): number {
  const lengths = group.map(({ rounds }) => rounds.flatMap(({ tokens }) => tokens).length);
  const advantages = tokenAdvantages(group, lengths, search);
  let total = 0;
  for (const [k, { rounds }] of group.entries()) {
    let at = 0;
    for (const { tokens, logits, oldLogProbs, mask } of rounds) {
      for (const [t, token] of tokens.entries()) {
        const ratio = Math.exp(logProb(logits[t]!, token) - oldLogProbs[t]!);
        if (mask[t] === 1) total += surrogate(ratio, advantages[k]![at]!, epsilon);
        at++;
      }
    }
  }
  return -total / group.length;
}

/** d loss / d logits of each round of each rollout, by central differences. */
export function toolPoGradient(
  group: readonly OracleRollout[],
  epsilon: number,
  search: boolean,
  step = 1e-5,
): number[][][][] {
  return group.map(({ rounds }, k) =>
    rounds.map(({ logits }, r) =>
      logits.map((row, t) =>
        row.map((_, v) => {
          const at = (by: number) =>
            toolPoLoss(movedLogit(group, [k, r, t, v], by), epsilon, search);
          return (at(step) - at(-step)) / (2 * step);
        }),
      ),
    ),
  );
}

function movedLogit(
  group: readonly OracleRollout[],
  [k, r, t, v]: readonly [number, number, number, number],
  by: number,
): OracleRollout[] {
  const copy = JSON.parse(JSON.stringify(group)) as OracleRollout[];
  const row = copy[k]!.rounds[r]!.logits[t] as number[];
  row[v] = row[v]! + by;
  return copy;
}

function logProb(logits: readonly number[], token: number): number {
  let sum = 0;
  for (const value of logits) sum += Math.exp(value);
  return logits[token]! - Math.log(sum);
}

/** S of each rollout: against the mean length of those without a fold. */
export function preferences(
  group: readonly { readonly length: number; readonly folds: number }[],
): number[] {
  return group.map((own) => {
    let sum = 0;
    let count = 0;
    for (const other of group) {
      if (other.folds > 0) continue;
      sum += other.length;
      count += 1;
    }
    if (own.folds === 0 || count === 0) return 0;
    const direct = sum / count;
    return direct + own.length === 0 ? 0 : (direct - own.length) / (direct + own.length);
  });
}
