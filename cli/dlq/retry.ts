/**
 * Which dead letters can be put back: rows of questions files that have been fixed. The file is read again by
 * the same reader; a row is found by its id and goes to the end of `questions`, in the phase and round in
 * which the run began to roll out. Records of a topic are still there and must not be there twice: `millrace
 * replay --from` recomputes what failed on them.
 */

import { messageOf } from '../../base/index.ts';
import { type QuestionRow, readQuestions } from '../../sources/index.ts';
import { retriedMark } from '../../streams/deliveries/index.ts';
import { type Log, recordsOf } from '../../streams/index.ts';
import { type DeadLetter, type Question, topics } from '../../topics/index.ts';
import { isOfTopic, type Letter } from './letters.ts';

/** The outcome for one letter. */
export interface Retried {
  readonly number: number;
  readonly put: boolean;
  /** Why not, and what to do. */
  readonly why: string;
}

export async function retry(log: Log, letters: readonly Letter[]): Promise<readonly Retried[]> {
  const asked = await firstAsked(log);
  const files = new Map<string, Promise<Rows>>();
  const outcomes: Retried[] = [];
  for (const one of letters) {
    const row = await fixedRow(one, files);
    const why =
      'why' in row
        ? row.why
        : asked.ids.has(row.id)
          ? `question ${row.id} is already in the run`
          : '';
    if (why === '' && !('why' in row)) {
      asked.ids.add(row.id);
      await log.commit((tx) => {
        tx.append(topics.questions, { ...row, ...asked.place });
        tx.mark(retriedMark(one.number), 1);
      });
    }
    outcomes.push({ number: one.number, put: why === '', why });
  }
  return outcomes;
}

/** The row of a dead letter, now fixed, or why there is none. */
async function fixedRow(
  { letter, retried }: Letter,
  files: Map<string, Promise<Rows>>,
): Promise<QuestionRow | { readonly why: string }> {
  if (retried) return { why: 'already put back' };
  if (isOfTopic(letter)) return { why: ofTopic(letter) };
  if (letter.key === '') {
    return {
      why: 'the row has no id, so it cannot be found in the file; fix the file and start a new run',
    };
  }
  const rows = files.get(letter.origin) ?? rowsOf(letter.origin);
  files.set(letter.origin, rows);
  return (await rows).good.get(letter.key) ?? { why: whyNot(await rows, letter) };
}

function whyNot({ bad, unreadable }: Rows, { key, origin }: DeadLetter): string {
  return unreadable ?? bad.get(key) ?? `no row of ${origin} has id ${key}`;
}

/** Rows of a file by id: good ones, and why the others are not. */
interface Rows {
  readonly good: ReadonlyMap<string, QuestionRow>;
  readonly bad: ReadonlyMap<string, string>;
  /** Why the file as a whole cannot be read; null when it can. */
  readonly unreadable: string | null;
}

async function rowsOf(path: string): Promise<Rows> {
  const good = new Map<string, QuestionRow>();
  const bad = new Map<string, string>();
  try {
    for await (const item of readQuestions(path)) {
      if ('value' in item) good.set(item.value.id, item.value);
      else {
        const { key, place, field, reason } = item.deadLetter;
        bad.set(key, `still bad: ${path}:${place}: ${field} ${reason}`);
      }
    }
  } catch (error) {
    return { good: new Map(), bad, unreadable: messageOf(error) };
  }
  return { good, bad, unreadable: null };
}

/** The ids already asked, and where a new question goes. */
async function firstAsked(log: Log): Promise<{
  readonly ids: Set<string>;
  readonly place: Pick<Question, 'phase' | 'round' | 'schedule'>;
}> {
  const ids = new Set<string>();
  let first: Question | null = null;
  const from = { kind: 'earliest' } as const;
  for await (const { value } of recordsOf(log, topics.questions, { from })) {
    ids.add(value.id);
    if (first === null || (first.phase === 'evaluate' && value.phase !== 'evaluate')) first = value;
  }
  const { phase, round } = first ?? { phase: 'explore', round: 1 };
  return { ids, place: { phase, round, schedule: null } };
}

/** The topic from which to recompute a run when a record of this one failed. */
const MADE_OVER: Readonly<Record<string, string>> = {
  questions: 'rollouts',
  rollouts: 'scored',
  scored: 'selected',
  selected: 'batches',
  batches: 'weights',
};

function ofTopic({ origin, place }: DeadLetter): string {
  const from = MADE_OVER[origin];
  const how =
    from === undefined
      ? 'start a new run'
      : `make a new run with: millrace replay --from ${from} --into NAME`;
  return `${origin}@${place} is a record of the run, not a row of a file; fix what failed on it, then ${how}`;
}
