/**
 * Rows of a JSON file that holds one array of objects. Such a file is read whole, so its size is bounded;
 * `place` counts the elements from 1.
 */
import { readFile, stat } from 'node:fs/promises';
import { questionsFileError, type RawRow } from './rawRow.ts';

export const jsonBytesMax = 256 * 1024 * 1024;

export async function* jsonArrayRows(
  path: string,
  bytesMax = jsonBytesMax,
): AsyncGenerator<RawRow> {
  const { size } = await stat(path);
  if (size > bytesMax) {
    throw questionsFileError(
      `${path} has ${size} bytes and a JSON file is read whole, ${bytesMax} at most; write it as JSON Lines (.jsonl)`,
    );
  }
  for (const [index, value] of elements(path, await readFile(path, 'utf8')).entries()) {
    yield row(index + 1, value);
  }
}

function elements(path: string, text: string): readonly unknown[] {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (cause) {
    const why = (cause as Error).message;
    throw questionsFileError(`${path} is not JSON: ${why}. JSON Lines end in .jsonl`, cause);
  }
  if (Array.isArray(value)) return value;
  throw questionsFileError(`${path} must hold one array of objects, a question each`);
}

function row(place: number, value: unknown): RawRow {
  const payload = JSON.stringify(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { kind: 'unreadable', place, reason: 'an element must be a JSON object', payload };
  }
  return { kind: 'fields', place, fields: value as Record<string, unknown>, payload };
}
