/**
 * Endless questions: what a job's planner reads from if `questions` is not a file that can be read through.
 *
 * All of them guarantee: each question comes with the place after it, from which reading can continue;
 * nothing is read ahead of demand except a bounded few; a row that cannot be used is a dead letter with its
 * place; and a question has the same id whenever it comes, so that one that comes twice is recognised.
 */
import { isResumable, type Resumable } from '../../streams/index.ts';
import type { QuestionRow } from '../questionRow.ts';

/** Questions that keep coming, and from where. */
export interface EndlessQuestions extends Resumable<QuestionRow> {
  /** What messages call the place that questions come from: a path or an address, without a password. */
  readonly name: string;
}

/** A resumable source of questions with a name for people. */
export function endlessQuestions(name: string, from: Resumable<QuestionRow>): EndlessQuestions {
  return { kind: 'resumable', name, open: (opening) => from.open(opening) };
}

export function isEndless(questions: object): questions is EndlessQuestions {
  return isResumable(questions);
}
