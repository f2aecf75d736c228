/**
 * Text to learn from as a training sequence, tokenised as a rollout of the same text would be.
 *
 * The policy's own text is encoded with its tags, piece by piece between results; a result is the block that
 * a rollout appends, its content without tags (text from outside never speaks for the policy). After a closed
 * answer comes the end token; a text that was cut off gets none, since it did not end there. An unclosed
 * result block at the end, and what follows it, is left out: nothing of the policy's comes after it.
 *
 * A text does not say who wrote it: whatever is between result tags counts as a result, and a result that
 * holds a closing tag ends there.
 */
import type { Tokenizer, TrainSequence } from '../../model/index.ts';
import { resultTokens } from './resultBlock.ts';
import { blocks } from './tags.ts';
import { type Piece, trainSequence } from './trainSequence.ts';

/**
 * Whether what tools wrote is learnt too: `masked` = read but not learnt; `trained` = as in the references.
 */
export type ResultTokens = 'masked' | 'trained';

export interface EncodeOptions {
  /** The chat template: question text to prompt tokens. */
  readonly prompt: (question: string) => Int32Array;
  readonly tokenizer: Tokenizer;
  readonly results: ResultTokens;
}

/**
 * Prompt and response; the response is the target, result blocks by choice. Advantages and log-probs are 0.
 */
export function encodeExample(
  question: string,
  text: string,
  { prompt, tokenizer, results }: EncodeOptions,
): TrainSequence {
  const own = piecesOf(text).map(
    ({ kind, text: written }): Piece => ({
      tokens: kind === 'policy' ? tokenizer.encode(written) : resultTokens(tokenizer, written),
      target: kind === 'policy' || results === 'trained' ? 1 : 0,
    }),
  );
  const end: Piece = { tokens: Int32Array.of(tokenizer.endToken), target: 1 };
  const isClosed = text.trimEnd().endsWith('</answer>');
  return trainSequence([
    { tokens: prompt(question), target: 0 },
    ...own,
    ...(isClosed ? [end] : []),
  ]);
}

interface TextPiece {
  readonly kind: 'policy' | 'result';
  /** For a result: its content. */
  readonly text: string;
}

/** Results may be in any of their forms, with or without the separators that a rollout puts around them. */
function piecesOf(text: string): TextPiece[] {
  const pieces: TextPiece[] = [];
  const addOwn = (own: string): void => {
    if (own !== '') pieces.push({ kind: 'policy', text: own });
  };
  let from = 0;
  for (const { inner, start, end } of blocks(text, 'result')) {
    addOwn(withoutLast(text.slice(from, start), ' '));
    const content = inner.startsWith('\n') ? inner.slice(1) : inner;
    pieces.push({ kind: 'result', text: withoutLast(content, '\n') });
    from = end;
  }
  const rest = text.slice(from);
  const unclosed = rest.indexOf('<result>');
  addOwn(unclosed < 0 ? rest : withoutLast(rest.slice(0, unclosed), ' '));
  return pieces;
}

function withoutLast(text: string, end: string): string {
  return text.endsWith(end) ? text.slice(0, -end.length) : text;
}
