/**
 * The plan of a curriculum: which question comes when. Rows of question files in, the `questions` topic out.
 *
 * Order of the topic: the held-out questions (stage 0), then for each round its candidates and the held-out
 * questions again. An evaluation precedes the next round's candidates, so it is in flight before any of them.
 * Deterministic in rows and seed: a resumed run plans the same.
 */
import { shuffled } from '../model/draws.ts';
import type { QuestionItem, QuestionRow } from '../sources/questions.ts';
import type { DeadLetter, Phase, Question, Schedule } from '../streams/records.ts';

export type Item<T> = { readonly value: T } | { readonly deadLetter: DeadLetter };

export interface QuestionPlan {
  readonly items: readonly Item<Question>[];
  /** Candidates of a round. */
  readonly explore: number;
  /** Candidates that Pareto sampling sorts at once, and how many of them it keeps. */
  readonly window: number;
  readonly keep: number;
  /** Held-out questions, each asked at every evaluation. */
  readonly heldOut: number;
}

export interface PlanOptions {
  readonly rounds: number;
  /**
   * `questions`: a round's candidates are one window, the kept are rolled out afresh. `groups`: a window a step,
   * the kept groups are trained on as they are.
   */
  readonly select: 'questions' | 'groups';
  /** Most candidates a round. */
  readonly explore: number;
  /** Most kept a round. */
  readonly keep: number;
  /** Groups a step. */
  readonly batchGroups: number;
  /** Most held-out questions. */
  readonly heldOut: number;
  readonly seed: number;
}

export interface Rows {
  readonly train: AsyncIterable<QuestionItem>;
  /** Absent: held-out questions are taken from `train`, at most three in ten. */
  readonly heldOut?: AsyncIterable<QuestionItem>;
}

async function read(
  rows: AsyncIterable<QuestionItem>,
  letters: Item<never>[],
): Promise<QuestionRow[]> {
  const good: QuestionRow[] = [];
  for await (const item of rows) {
    if ('value' in item) good.push(item.value);
    else letters.push(item);
  }
  return good;
}

/** Throws when there are too few questions to train on and to hold out. */
export async function planQuestions(rows: Rows, options: PlanOptions): Promise<QuestionPlan> {
  const letters: Item<never>[] = [];
  let train = shuffled(await read(rows.train, letters), options.seed, 'plan');
  let held = rows.heldOut === undefined ? [] : await read(rows.heldOut, letters);
  if (rows.heldOut === undefined) {
    const count = Math.min(options.heldOut, Math.floor(train.length * 0.3));
    held = train.slice(0, count);
    train = train.slice(count);
  } else if (held.length === 0) {
    throw new Error(
      'the file of held-out questions has no usable row; give another, or none to hold out some of the training questions',
    );
  }
  held = held.slice(0, options.heldOut);
  const explore = Math.min(options.explore, train.length);
  if (explore === 0 || held.length === 0) {
    throw new Error(
      `the questions file has ${train.length + held.length} usable rows (${letters.length} bad ones); at least 4 are needed to train on some and hold out others`,
    );
  }
  const groups = options.select === 'groups';
  const steps = Math.ceil(options.keep / options.batchGroups);
  const window = groups ? Math.ceil(explore / steps) : explore;
  /** Each window is one step, so the version that a round begins with is known. */
  const placed = (index: number, round: number): Schedule | null =>
    groups ? { index, of: explore, version: (round - 1) * Math.ceil(explore / window) } : null;

  const items: Item<Question>[] = [...letters];
  const put = (row: QuestionRow, phase: Phase, stage: number, schedule: Schedule | null = null) => {
    items.push({ value: { ...row, phase, stage, schedule } });
  };
  for (const row of held) put(row, 'evaluate', 0);
  for (let round = 1; round <= options.rounds; round++) {
    for (let i = 0; i < explore; i++) {
      const row = train[((round - 1) * explore + i) % train.length]!;
      put(row, 'explore', round, placed(i, round));
    }
    for (const row of held) put(row, 'evaluate', round);
  }
  const keep = groups ? options.batchGroups : options.keep;
  return { items, explore, window, keep, heldOut: held.length };
}
