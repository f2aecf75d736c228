/**
 * Rows of a Parquet file, one row group in memory at a time (hyparquet).
 *
 * Two schemas are read: the plain columns of a questions file, and the RL schema of ET-Agent §7.6
 * (`data_source`, `prompt`, `ability`, `reward_model`, `extra_info`). Nested values come as objects and
 * arrays, int64 as bigint.
 */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { questionsFileError, type RawRow } from './rawRow.ts';

const compressors = {
  GZIP: (input: Uint8Array): Uint8Array => gunzipSync(input),
  BROTLI: (input: Uint8Array): Uint8Array => brotliDecompressSync(input),
};

/** The rows in the order of the file; `place` is the row, from 1. */
export async function* parquetRows(
  path: string,
  check: (columns: readonly string[]) => string | null,
): AsyncGenerator<RawRow> {
  const file = await readable(path, asyncBufferFromFile(path));
  const metadata = await readable(path, parquetMetadataAsync(file));
  const complaint = check(columnsOf(metadata));
  if (complaint !== null) throw questionsFileError(`${path}: ${complaint}`);
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    const options = { file, metadata, rowStart, rowEnd, compressors };
    const rows = await readable(path, parquetReadObjects(options));
    for (const [index, fields] of rows.entries()) {
      yield { kind: 'fields', place: rowStart + index + 1, fields, payload: json(fields) };
    }
    rowStart = rowEnd;
  }
}

function columnsOf(metadata: { schema: { name: string; num_children?: number }[] }): string[] {
  const names: string[] = [];
  for (let at = 1; at < metadata.schema.length; at = after(metadata.schema, at)) {
    names.push(metadata.schema[at]!.name);
  }
  return names;
}

/** The schema is a tree in preorder: where the next sibling of `at` stands. */
function after(schema: readonly { num_children?: number }[], at: number): number {
  let next = at + 1;
  for (let child = 0; child < (schema[at]?.num_children ?? 0); child++) next = after(schema, next);
  return next;
}

function json(value: unknown): string {
  return JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? Number(part) : part));
}

async function readable<T>(path: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    const why = (cause as Error).message;
    const advice =
      'Check that the file is complete, and write it with snappy, gzip or no compression.';
    throw questionsFileError(`${path} cannot be read as Parquet: ${why}. ${advice}`, cause);
  }
}
