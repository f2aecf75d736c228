/** Pieces of tokens, targets or not, as one sequence to train on. Advantages and log-probs are 0. */
import type { TrainSequence } from '../../model/index.ts';

/** Tokens that are all learnt (`target` 1), or only read. */
export interface Piece {
  readonly tokens: Int32Array;
  readonly target: 0 | 1;
}

/** Joins the pieces. */
export function trainSequence(pieces: readonly Piece[]): TrainSequence {
  const length = pieces.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const tokens = new Int32Array(length);
  const mask = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    tokens.set(piece.tokens, at);
    mask.fill(piece.target, at, at + piece.tokens.length);
    at += piece.tokens.length;
  }
  const zeros = (): Float32Array => new Float32Array(length);
  return { tokens, mask, advantages: zeros(), oldLogProbs: zeros() };
}
