/**
 * Questions without an end: what the planner of a job takes from when `questions` is no file that can be read
 * through.
 *
 * Holds true of all of them: each question comes with the place behind it and can be gone on from there;
 * nothing is read before it is asked for, but for a bounded few; a row that cannot be used is a dead letter
 * with its place; and a question has the same id whenever it comes, so that one that comes twice is known.
 */
import { isResumable, type Resumable } from '../../streams/index.ts';
import type { QuestionRow } from '../questionRow.ts';

/** Questions that go on coming, and from where. */
export interface EndlessQuestions extends Resumable<QuestionRow> {
  /** What people are told that questions are waited for from: a path, an address. Without a password. */
  readonly name: string;
}

/** A resumable source of questions under a name that people know it by. */
export function endlessQuestions(name: string, from: Resumable<QuestionRow>): EndlessQuestions {
  return { kind: 'resumable', name, open: (opening) => from.open(opening) };
}

export function isEndless(questions: object): questions is EndlessQuestions {
  return isResumable(questions);
}
