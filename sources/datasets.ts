/**
 * Public benchmarks as questions: recognised by the name of their file or folder, in their published form.
 *
 * A row that already has our form of a question, or that of the RL schema, is taken as such whatever the file
 * is called; of any other file, `question` and `answer` are enough. A bad row is a dead letter, as in
 * `readQuestions`.
 */
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { datasetFormats, formatNamed, type NamedFormat } from './datasetFormats.ts';
import { datasetRow, missingFields } from './datasetRow.ts';
import type { ImagesFolder } from './inlineImage.ts';
import { fileKinds, type QuestionItem, questionItems } from './questionItems.ts';
import { missingColumns, questionRow, withDefaults } from './questionRow.ts';
import { questionsFileError } from './rawRow.ts';

export interface DatasetOptions {
  /** The benchmark that the file holds, if its name does not say so. */
  readonly name?: string;
  /** Where to write images that rows contain (HLE). */
  readonly images?: ImagesFolder;
  /** Whether a question may lack an answer, because something else gives the reward. */
  readonly unanswered?: boolean;
}

/** The benchmarks whose form is known. */
export const datasetNames: readonly string[] = Object.keys(datasetFormats);

/**
 * Reads a file of questions: ours, the RL schema, or a benchmark's.
 *
 * @throws MillraceError `QUESTIONS_FILE` when the file cannot be used at all or `name` is not a known
 * benchmark.
 */
export function readDataset(
  path: string,
  { name, images, unanswered = false }: DatasetOptions = {},
): AsyncGenerator<QuestionItem> {
  const dataset = name === undefined ? datasetOf(path) : byName(name);
  if (dataset === null) return ownQuestions(path, unanswered);
  return questionItems(path, {
    conversations: dataset.format.conversations ?? false,
    check: (columns) =>
      missingColumns(columns) === null ? null : missingFields(columns, dataset.format),
    read(fields, at) {
      const ours = missingColumns(Object.keys(fields)) === null;
      return ours ? questionRow(fields, at.text) : datasetRow(fields, dataset, { ...at, images });
    },
  });
}

/** A file of the user's own: a question and its answer are enough. */
function ownQuestions(path: string, unanswered: boolean): AsyncGenerator<QuestionItem> {
  const source = basename(path, extname(path));
  return questionItems(path, {
    check: (columns) => {
      const given = [...columns, 'id', 'source', 'ability', ...(unanswered ? ['answers'] : [])];
      const complaint = missingColumns(given);
      if (complaint === null || columns.includes('reward_model')) return complaint;
      const needed = unanswered ? 'question' : 'question and answer (or answers)';
      return `its columns are ${columns.join(', ')}, but a questions file needs ${needed}; id, source and ability are optional`;
    },
    read: (fields, { place, text }) =>
      questionRow(withDefaults(fields, { source, id: `${source}-${place - 1}` }), text, unanswered),
  });
}

/** The benchmark that a path names: by its file's name, or else its folder's (`gsm8k/test.jsonl`). */
export function datasetOf(path: string): NamedFormat | null {
  return formatNamed(basename(path, extname(path))) ?? formatNamed(basename(dirname(path)));
}

function byName(name: string): NamedFormat {
  const found = formatNamed(name);
  if (found !== null) return found;
  throw questionsFileError(
    `unknown dataset ${name}; known ones are ${datasetNames.join(', ')}. Any other file needs the fields question and answers`,
  );
}

/** Names of files in a dataset's folder, in order of preference. */
const stems = ['test', 'data', 'valid', 'dev', 'train'];

/**
 * The file for a path or a name: the file itself, the file in a folder (`2wiki/test.jsonl`), or the one of
 * that name in the folder `data` (`data/2wiki.jsonl`, `data/2wiki/test.jsonl`); absolute. Throws code
 * `QUESTIONS_FILE`.
 */
export async function findDataset(given: string, data: string, cwd = '.'): Promise<string> {
  const tried = [resolve(cwd, given), resolve(cwd, data, given)];
  for (const place of tried) {
    const file = (await fileAt(place)) ?? (await firstOf(fileKinds.map((kind) => place + kind)));
    if (file !== null) return file;
  }
  throw questionsFileError(
    `no questions at ${given}, and no dataset of that name in ${data}; give a file that ends in ${fileKinds.join(', ')}, or a folder with test.jsonl in it`,
  );
}

async function fileAt(place: string): Promise<string | null> {
  const entry = await stat(place).catch(() => null);
  if (entry === null) return null;
  if (!entry.isDirectory()) return place;
  const files = (await readdir(place)).filter((name) => fileKinds.includes(extname(name)));
  const wanted = stems.flatMap((stem) =>
    fileKinds.flatMap((kind) => files.filter((name) => name === stem + kind)),
  );
  const chosen = wanted[0] ?? (files.length === 1 ? files[0] : undefined);
  if (chosen === undefined && formatNamed(basename(place))?.format.conversations) return place;
  return chosen === undefined ? null : join(place, chosen);
}

async function firstOf(places: readonly string[]): Promise<string | null> {
  for (const place of places) {
    const entry = await stat(place).catch(() => null);
    if (entry?.isFile() === true) return place;
  }
  return null;
}
