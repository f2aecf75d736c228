/**
 * The folds of a rollout as records of their own, for taps. They contain only what the rollout says.
 */
import { createHash } from 'node:crypto';
import type { FoldRecord, Rollout } from '../../topics/index.ts';

/** One record per fold, in order. */
export function foldRecords({ id, question, episode }: Rollout): readonly FoldRecord[] {
  return (episode?.folds ?? []).map(({ prompt, ...rest }, fold) => ({
    ...rest,
    rolloutId: id,
    questionId: question.id,
    fold,
    promptTokens: prompt.length,
    promptDigest: digestOf(prompt),
  }));
}

function digestOf(tokens: Int32Array): string {
  const bytes = Buffer.alloc(tokens.length * 4);
  for (const [i, token] of tokens.entries()) bytes.writeInt32LE(token, 4 * i);
  return createHash('sha256').update(bytes).digest('hex');
}
