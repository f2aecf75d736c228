/**
 * What the harness says when an action is not carried out, and the words from which the policy continues: an
 * open clause, so that the thought goes on instead of beginning again.
 */
import { renderObservation } from './tags.ts';

/** The reasons. `reference` has neither `context` nor `empty`. */
export type NoticeKind =
  | 'repeatedSearch'
  | 'repeatedCall'
  | 'noFoldsLeft'
  | 'noActionsLeft'
  | 'noContextLeft'
  | 'empty';

const texts: Readonly<Record<NoticeKind, readonly [notice: string, clause: string]>> = {
  repeatedSearch: [
    'This search was made before; its result stands above.',
    'I have searched for this already, so',
  ],
  repeatedCall: [
    'This very call was made before; its result stands above.',
    'I have made this call already, so',
  ],
  noFoldsLeft: [
    'Memory cannot be folded any more; the thought goes on as it is.',
    'I cannot fold my memory again, so',
  ],
  noActionsLeft: [
    'No actions are left. Give the final answer now, from what is known.',
    'I can act no more, so from what I know the final answer is',
  ],
  noContextLeft: [
    'The context is nearly full. Give the final answer now, from what is known.',
    'I have no room left, so from what I know the final answer is',
  ],
  empty: [
    'There is nothing between these tags.',
    'I have to write what I want between the tags, so',
  ],
};

/** The notice in its block, and the clause after it. */
export function noticeText(kind: NoticeKind): string {
  const [notice, clause] = texts[kind];
  return `${renderObservation('notice', notice)}${clause}`;
}
