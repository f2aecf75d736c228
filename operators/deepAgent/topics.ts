/** The topic of folds: what the auxiliary model said and what became of it, beside the rollouts that hold the memories themselves. */
import { defineTopic } from '../../streams/contracts/defineTopic.ts';
import { list, record, text, type ValueOf, whole } from '../../streams/contracts/shapes.ts';

const foldRecord = record('FoldRecord', {
  rolloutId: text,
  questionId: text,
  /** Number of the fold in its rollout, from 0. */
  fold: whole,
  /** Response tokens before it. */
  at: whole,
  /** Tokens of the context that it replaced, and of the one that it made. */
  dropped: whole,
  promptTokens: whole,
  /** SHA-256 of the new context's token ids. */
  promptDigest: text,
  /** The memories as they stand in the context. */
  episodic: text,
  working: text,
  tool: text,
  /** Which of them were made from the record of the calls. */
  madeUp: list(text),
});
/** One fold. */
export interface FoldRecord extends ValueOf<typeof foldRecord> {}

/** Topics of episodes besides those of every run. */
export const deepTopics = {
  folds: defineTopic<FoldRecord>({
    name: 'folds',
    about:
      'Folds of memory: what was dropped, and the three memories in its place. Rollout writes it beside its rollouts; people read it.',
    shape: foldRecord,
    key: (value) => value.rolloutId,
    questions: ({ questionId }) => [questionId],
  }),
};
