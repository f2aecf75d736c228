/**
 * The questions of an evaluation: files in the order given, the first so many of each, every question once.
 *
 * A question whose id was met in an earlier file becomes a dead letter, as one that is met twice in a file does.
 */

import { MillraceError } from '../base/errors.ts';
import { readDataset } from '../sources/datasets.ts';
import type { Question } from '../streams/records.ts';
import type { Item } from './plan.ts';

/** A file, and the benchmark that it holds where its name does not say so. */
export interface EvaluatedFile {
  readonly path: string;
  readonly name?: string;
}

export interface EvaluationPlan {
  readonly items: readonly Item<Question>[];
  /** Readable questions among them. */
  readonly questions: number;
  /** Where they are from, in order. */
  readonly sources: readonly string[];
}

/** Throws code `QUESTIONS_FILE` when a file cannot be used or none has a usable row. */
export async function planEvaluation(
  files: readonly EvaluatedFile[],
  limit: number,
): Promise<EvaluationPlan> {
  const items: Item<Question>[] = [];
  const homes = new Map<string, string>();
  const sources = new Set<string>();
  for (const { path, ...options } of files) {
    let taken = 0;
    for await (const item of readDataset(path, options)) {
      if (taken >= limit) break;
      if ('deadLetter' in item) {
        items.push(item);
        continue;
      }
      taken++;
      const { id, source } = item.value;
      const home = homes.get(id);
      if (home !== undefined) {
        items.push(repeated(path, taken, id, home));
        continue;
      }
      homes.set(id, path);
      sources.add(source);
      items.push({ value: { ...item.value, phase: 'evaluate', stage: 0, schedule: null } });
    }
  }
  if (homes.size === 0) throw noQuestions(files, items);
  return { items, questions: homes.size, sources: [...sources] };
}

function repeated(origin: string, place: number, key: string, home: string): Item<never> {
  const reason = `is already the id of a question in ${home}`;
  return { deadLetter: { origin, place, key, field: 'id', reason, payload: '' } };
}

function noQuestions(files: readonly EvaluatedFile[], items: readonly Item<Question>[]) {
  const paths = files.map(({ path }) => path).join(', ');
  const [first] = items;
  const why =
    first !== undefined && 'deadLetter' in first
      ? `; the first row: ${first.deadLetter.field} ${first.deadLetter.reason}`
      : '; there are no rows';
  return new MillraceError(
    'QUESTIONS_FILE',
    `${paths} has no usable question${why}. A benchmark is known by its file's name, or as NAME=FILE; any other file needs id, source, question, answers, ability`,
  );
}
