/**
 * The rows of a file in any format: CSV, JSON Lines, a JSON array or Parquet, chosen by the name's ending.
 * The caller decides what a row means.
 */
import { readdir, stat } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import { messageOf } from '../base/index.ts';
import type { DeadLetter } from '../topics/index.ts';
import { csvRows } from './csv.ts';
import { jsonArrayRows, jsonlRows } from './json.ts';
import { parquetRows } from './parquet.ts';
import { questionsFileError, type RawRow } from './rawRow.ts';

/** What is wrong with the columns of a file that has columns (CSV, Parquet), or null. */
export type CheckColumns = (columns: readonly string[]) => string | null;

type Reader = (path: string, check: CheckColumns) => AsyncGenerator<RawRow>;

const readers: Readonly<Record<string, Reader>> = {
  '.csv': csvRows,
  '.jsonl': jsonlRows,
  '.jsonl.gz': packedRows,
  '.ndjson': jsonlRows,
  '.json': jsonArrayRows,
  '.parquet': parquetRows,
};

/** The extension, one of `fileKinds` if the file can be read; with the one before it if it is compressed. */
export function kindOf(path: string): string {
  const kind = extname(path).toLowerCase();
  return kind === '.gz' ? extname(path.slice(0, -kind.length)).toLowerCase() + kind : kind;
}

async function* packedRows(path: string): AsyncGenerator<RawRow> {
  try {
    yield* jsonlRows(path);
  } catch (cause) {
    throw questionsFileError(
      `cannot decompress ${path} (${messageOf(cause)}): get a new copy`,
      cause,
    );
  }
}

/**
 * Prefixes of settings for endless sources (endless/fromSetting.ts), for users who try them where only files
 * can be read.
 */
const ENDLESS = /^(kafka:|follow:|listen:)/;

/** The readable extensions. */
export const fileKinds: readonly string[] = Object.keys(readers);

export interface Rows {
  readonly rows: AsyncGenerator<RawRow>;
  /** What `place` counts. */
  readonly counted: 'row' | 'line';
  /** Every cell is text (CSV). */
  readonly text: boolean;
}

/**
 * Files of a folder in the order of their names, each a conversation in JSON Lines: rows with `file` and
 * `chat_history`.
 */
async function* conversationRows(folder: string): AsyncGenerator<RawRow> {
  const files = (await readdir(folder)).filter((name) => extname(name) === '.jsonl').sort();
  for (const [i, file] of files.entries()) {
    const turns: unknown[] = [];
    let broken: RawRow | null = null;
    for await (const row of jsonlRows(join(folder, file))) {
      if (row.kind === 'fields') turns.push(row.fields);
      else broken ??= { ...row, place: i + 1, reason: `${file}:${row.place}: ${row.reason}` };
    }
    const fields = { file, chat_history: turns };
    yield broken ?? { kind: 'fields', place: i + 1, fields, payload: JSON.stringify(fields) };
  }
}

/**
 * Opens a file of rows; `what` names it in messages (`questions file`). `conversations` = it may be a folder,
 * each of whose files is a row. Throws code `QUESTIONS_FILE` at once when it is of another kind or missing,
 * and while it is read when it turns out to be unusable as a whole.
 */
export async function openRows(
  path: string,
  what: string,
  check: CheckColumns,
  { conversations = false }: { readonly conversations?: boolean } = {},
): Promise<Rows> {
  if (conversations && (await stat(path).catch(() => null))?.isDirectory()) {
    return { rows: conversationRows(path), counted: 'row', text: false };
  }
  const kinds = fileKinds.join(', ');
  if (ENDLESS.test(path)) {
    throw questionsFileError(
      `${what} ${path}: this must be a file that ends in ${kinds}; only the setting questions of the ready jobs (et-agent, arpo …) takes endless sources`,
    );
  }
  const kind = kindOf(path);
  const read = readers[kind];
  if (read === undefined) {
    const why = kind === '' ? 'has no extension' : `ends in ${kind}`;
    throw questionsFileError(`${what} ${path} ${why}; give a file that ends in ${kinds}`);
  }
  const entry = await stat(path).catch(() => null);
  if (entry === null) {
    const where = resolve(path);
    throw questionsFileError(
      `${what} ${path} does not exist (looked for ${where}). Check the path; it is relative to the current folder.`,
    );
  }
  if (!entry.isFile()) {
    throw questionsFileError(`${path} is not a file; give one that ends in ${kinds}`);
  }
  const counted = kind === '.parquet' || kind === '.json' ? 'row' : 'line';
  return { rows: read(path, check), counted, text: kind === '.csv' };
}

/** What is wrong with a row, and in which field. */
export interface RowFault {
  readonly field: string;
  readonly reason: string;
  /** The row's id if it has one, otherwise empty. */
  readonly key: string;
}

/** How much of its row a dead letter keeps. */
const payloadCharactersMax = 2000;

/** The dead letter of an unusable row. */
export function deadRow(
  origin: string,
  row: { readonly place: number; readonly payload: string },
  { field, key, reason }: RowFault,
): { readonly deadLetter: DeadLetter } {
  const payload = row.payload.slice(0, payloadCharactersMax);
  return { deadLetter: { origin, place: row.place, key, field, reason, payload } };
}
