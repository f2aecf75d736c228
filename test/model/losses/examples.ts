/**
 * Responses to try a loss on: ratios below, inside and above the usual bounds, lengths and masks that differ.
 */

import { draws } from '../../../base/draws.ts';
import type { Matrix } from '../../../model/credit/matrix.ts';

export interface Example {
  readonly logProbs: Matrix;
  readonly oldLogProbs: Matrix;
  readonly advantages: Matrix;
  readonly mask: Matrix;
}

/** `spread`: how far the policies are apart (nats). One advantage a response, or one a token. */
export function example(
  name: string,
  { spread, perToken = false }: { readonly spread: number; readonly perToken?: boolean },
): Example {
  const coin = draws('loss example', name);
  const lengths = [3, 7, 1, 5, 2, 6];
  const width = Math.max(...lengths);
  const rows = (of: (i: number, t: number) => number) =>
    lengths.map((_, i) => Array.from({ length: width }, (_, t) => of(i, t)));
  const uniform = (what: string, i: number, t: number) => coin.under(what).uniform(i * width + t);
  const oldLogProbs = rows((i, t) => -0.1 - 3 * uniform('old', i, t));
  return {
    oldLogProbs,
    logProbs: rows((i, t) => {
      // a response leans to one side, so that whole responses leave the bounds too
      const lean = 2 * uniform('lean', i, 0) - 1;
      return oldLogProbs[i]![t]! + spread * (lean + 0.3 * (2 * uniform('new', i, t) - 1));
    }),
    advantages: rows((i, t) => 2 * uniform('advantage', i, perToken ? t : 0) - 1),
    // a hole in the longest: what a tool wrote
    mask: rows((i, t) => (t < lengths[i]! && !(i === 1 && t === 3) ? 1 : 0)),
  };
}
