/** `folds`: what DeepAgent's folds of memory dropped, and what they put in its place. */

import { counted } from '../base/text/index.ts';
import { list, record, text, type ValueOf, whole } from '../streams/contracts/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';
import { questionLink } from './links.ts';

export const foldRecord = record('FoldRecord', {
  rolloutId: text,
  questionId: text,
  /** Number of the fold in its rollout, from 0. */
  fold: whole,
  /** Response tokens before it. */
  at: whole,
  /** Tokens of the context that it replaced, and of the one that it made. */
  dropped: whole,
  promptTokens: whole,
  /** SHA-256 of the new context's token ids, little-endian. */
  promptDigest: text,
  /** The memories as they appear in the context. */
  episodic: text,
  working: text,
  tool: text,
  /** Which of them were made from the record of calls. */
  madeUp: list(text),
});
/** One fold of a rollout, for display; the rollout itself has the resulting context. */
export interface FoldRecord extends ValueOf<typeof foldRecord> {}

export const folds = defineRunTopic<FoldRecord>({
  name: 'folds',
  about:
    'Memory folds (DeepAgent): what was dropped, and the three memories that replaced it. Rollout writes it beside its rollouts; people read it.',
  shape: foldRecord,
  key: (value) => value.rolloutId,
  subjects: ({ questionId }) => [questionId],
  identity: ({ rolloutId, fold }) => `${rolloutId} fold ${fold}`,
  // As for calls.
  moment: () => Number.POSITIVE_INFINITY,
  keyName: 'rollout id',
  line: ({ rolloutId, fold, dropped, promptTokens }) =>
    `fold ${fold} of ${rolloutId}: ${counted(dropped, 'token')} replaced by ${promptTokens}`,
  links: ({ rolloutId, questionId }) => [
    { label: 'trajectory', path: `t/${encodeURIComponent(rolloutId)}` },
    questionLink(questionId),
  ],
});
