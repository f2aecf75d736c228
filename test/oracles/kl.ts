/**
 * Estimates of the divergence between the policy and a reference policy, per token (ARPO reference §7.2).
 * d = log π - log π_ref.
 */

/** `k1` = d, `abs` = |d|, `k2` = d²/2, `k3` = e^-d + d - 1 held within ±10; the others are other names. */
export type KlKind = 'kl' | 'k1' | 'abs' | 'mse' | 'k2' | 'low_var_kl' | 'k3';

/** One estimate from the two log-probs of a token (nats). */
export function klEstimate(kind: KlKind, logProb: number, refLogProb: number): number {
  const d = logProb - refLogProb;
  switch (kind) {
    case 'kl':
    case 'k1':
      return d;
    case 'abs':
      return Math.abs(d);
    case 'mse':
    case 'k2':
      return 0.5 * d * d;
    case 'low_var_kl':
    case 'k3':
      return Math.min(10, Math.max(-10, Math.exp(-d) + d - 1));
    default:
      throw new Error(`unknown estimate "${kind satisfies never}": use k1, abs, k2 or k3`);
  }
}
