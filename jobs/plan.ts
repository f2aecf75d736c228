/**
 * The plan of a job: which question comes when. Rows of question files and the rounds of the job's methods
 * in, the `questions` topic out.
 *
 * A job has rounds. Round 0 is before any training; each later one ends when its last step is trained (a
 * round of RL, a fine-tuning, a round of preferences). Order of the topic: the held-out questions (round 0),
 * then for each round its own questions and the held-out ones again. An evaluation precedes the next round's
 * questions, so it is in flight before any of them. Deterministic in rows and seed: a resumed run plans the
 * same.
 *
 * A job may have no last round (`rounds=forever`): its questions are then made on demand, and
 * those to train on come again from the first one on, pass after pass.
 */

import { MillraceError, shuffled } from '../base/index.ts';
import { counted } from '../base/text/index.ts';
import type { EndlessQuestions } from '../sources/endless/index.ts';
import type { QuestionItem, QuestionRow } from '../sources/index.ts';
import type { Items, SourceItem } from '../streams/index.ts';
import type { Phase, Question, Schedule } from '../topics/index.ts';

/** One round after the first. */
export interface RoundPlan {
  /** Its name for people: `fine-tuning`, `round 2`. */
  readonly name: string;
  /** Why its questions are asked; null if it takes none from the plan, because an operator asks them. */
  readonly phase: Exclude<Phase, 'evaluate' | 'practice'> | null;
  /**
   * How many training questions it takes, after those of earlier rounds; after the last one it begins again.
   */
  readonly count: number;
  readonly skip: number;
  /**
   * For endless questions: it takes none that comes later than this after its first, so `count` is the most
   * it may take. How many it took is a record of `windows`.
   */
  readonly lengthMs?: number;
  /** The place of its i-th question in a schedule, if its groups are trained on as they are. */
  readonly schedule?: (index: number) => Schedule;
  /** Whether the held-out questions are asked after it; they are unless this is false. */
  readonly evaluated?: boolean;
  /**
   * The round after it, in an endless job: only the last round of a layout has one, and so has each one that
   * it returns.
   */
  readonly next?: () => RoundPlan;
}

/** The questions of a job, in order. */
export interface QuestionPlan {
  /**
   * What each round is called, round 0 included; in an endless job those up to the first that is repeated.
   */
  readonly rounds: readonly string[];
  /** Whether there is a round after every round. */
  readonly endless: boolean;
  readonly items: Items<Question>;
  /** Questions of each round in `rounds`, including round 0: roughly its share of the run's work. */
  readonly sizes: readonly number[];
  /** Held-out questions, each asked at every evaluation. */
  readonly heldOut: number;
  /** Questions to train on; infinite if they are endless. */
  readonly train: number;
}

/** The plan if all questions are known. */
export interface ListedPlan extends QuestionPlan {
  /** The same whenever they are iterated. */
  readonly items: Iterable<SourceItem<Question>>;
}

/** Questions from a file (`readQuestions`), or a list. */
export type QuestionItems = Iterable<QuestionItem> | AsyncIterable<QuestionItem>;

/**
 * The questions of a training job; each side is read once.
 *
 * Questions to train on may be endless (`EndlessQuestions`: a file that grows, a folder, a web service, a
 * Kafka topic, a resumable source of your own). Nothing is read through then: each place of the plan takes
 * the next question that comes, and waits for it (endlessPlan.ts); an endless job takes them as long as it
 * runs.
 */
export interface JobQuestions {
  readonly train: QuestionItems | EndlessQuestions;
  /** The file that they come from, for errors. */
  readonly file?: string;
  /**
   * Absent: held-out questions are taken from `train`, at most three in ten; of an endless one, the first
   * that come.
   */
  readonly heldOut?: QuestionItems;
}

/** The questions of a training job, all of them known. */
export interface ListedQuestions extends JobQuestions {
  readonly train: QuestionItems;
}

/**
 * How the rounds divide the questions to train on, of which there are `train` (infinite if they are endless).
 */
export type Layout = (train: number) => readonly RoundPlan[];

/** How `planRounds` divides the questions; the seed decides their order. */
export interface RoundsOptions {
  /** Limit of held-out questions. */
  readonly heldOut: number;
  readonly seed: number;
}

/** The usable rows; the others are added to `deadLetters`. */
export async function read(
  rows: QuestionItems,
  deadLetters: SourceItem<never>[],
): Promise<QuestionRow[]> {
  const good: QuestionRow[] = [];
  for await (const item of rows) {
    if ('value' in item) good.push(item.value);
    else deadLetters.push(item);
  }
  return good;
}

/** What is wrong with the first bad row, if there is one. */
function firstFault([first]: readonly SourceItem<never>[]): string {
  if (first === undefined || !('deadLetter' in first)) return '';
  const { origin, place, field, reason } = first.deadLetter;
  return `\nfirst bad row: ${origin}:${place}: ${field === '' ? '' : `${field} `}${reason}`;
}

/** The error if nothing can be held out. */
export function noHeldOut(deadLetters: readonly SourceItem<never>[]): MillraceError {
  return new MillraceError(
    'QUESTIONS_FILE',
    `the file of held-out questions has no usable row; fix it, or leave it out to hold out some of the training questions${firstFault(deadLetters)}`,
  );
}

/** Fails with code `QUESTIONS_FILE` if there are too few questions to train on and to hold out. */
export async function planRounds(
  rows: ListedQuestions,
  layout: Layout,
  options: RoundsOptions,
): Promise<ListedPlan> {
  const deadLetters: SourceItem<never>[] = [];
  let train = shuffled(await read(rows.train, deadLetters), options.seed, 'plan');
  let held = rows.heldOut === undefined ? [] : await read(rows.heldOut, deadLetters);
  if (rows.heldOut === undefined) {
    const count = Math.min(options.heldOut, Math.floor(train.length * 0.3));
    held = train.slice(0, count);
    train = train.slice(count);
  } else if (held.length === 0) {
    throw noHeldOut(deadLetters);
  }
  held = held.slice(0, options.heldOut);
  if (train.length === 0 || held.length === 0) {
    throw new MillraceError(
      'QUESTIONS_FILE',
      `${rows.file ?? 'the questions file'} has ${counted(train.length + held.length, 'usable row')} and ${counted(deadLetters.length, 'bad one')}; training and held-out questions need at least 4${firstFault(deadLetters)}`,
    );
  }
  const rounds = layout(train.length);
  return {
    ...described(rounds, held.length),
    items: { [Symbol.iterator]: () => itemsOf({ deadLetters, held, train, rounds }) },
    train: train.length,
  };
}

/** What a plan says about its rounds. */
export function described(
  rounds: readonly RoundPlan[],
  heldOut: number,
): Pick<QuestionPlan, 'rounds' | 'endless' | 'sizes' | 'heldOut'> {
  const own = ({ phase, count }: RoundPlan): number => (phase === null ? 0 : count);
  return {
    rounds: ['the base policy', ...rounds.map(({ name }) => name)],
    endless: rounds.at(-1)?.next !== undefined,
    sizes: [
      heldOut,
      ...rounds.map((round) => own(round) + (round.evaluated === false ? 0 : heldOut)),
    ],
    heldOut,
  };
}

interface Planned {
  readonly deadLetters: readonly SourceItem<never>[];
  readonly held: readonly QuestionRow[];
  readonly train: readonly QuestionRow[];
  readonly rounds: readonly RoundPlan[];
}

function* itemsOf({ deadLetters, held, train, rounds }: Planned): Generator<SourceItem<Question>> {
  yield* deadLetters;
  for (const row of held) yield asked(row, 'evaluate', 0);
  let number = 0;
  for (const { phase, count, skip, schedule, evaluated } of oneAfterAnother(rounds)) {
    number += 1;
    for (let index = 0; phase !== null && index < count; index++) {
      yield asked(train[(skip + index) % train.length]!, phase, number, schedule?.(index) ?? null);
    }
    if (evaluated === false) continue;
    for (const row of held) yield asked(row, 'evaluate', number);
  }
}

/** The rounds, and those after the last. */
export function* oneAfterAnother(rounds: readonly RoundPlan[]): Generator<RoundPlan> {
  yield* rounds;
  for (let next = rounds.at(-1)?.next; next !== undefined; ) {
    const round = next();
    yield round;
    next = round.next;
  }
}

function asked(
  row: QuestionRow,
  phase: Phase,
  round: number,
  schedule: Schedule | null = null,
): SourceItem<Question> {
  return { value: { ...row, phase, round, schedule, task: row.task ?? null } };
}
