/**
 * Rows of JSON: a file of JSON Lines (one object a line; blank lines are skipped), or a file that holds one array of
 * objects. The latter is read whole, so its size is bounded; `place` counts its elements from 1.
 */
import { readFile, stat } from 'node:fs/promises';
import { lines } from './lines.ts';
import { questionsFileError, type RawRow } from './rawRow.ts';

export async function* jsonlRows(path: string): AsyncGenerator<RawRow> {
  for await (const line of lines(path)) {
    if (line.text === null) {
      yield { kind: 'unreadable', place: line.number, reason: line.reason, payload: '' };
    } else if (line.text.trim() !== '') {
      yield parsedLine(line.number, line.text);
    }
  }
}

function parsedLine(place: number, payload: string): RawRow {
  try {
    return row(place, JSON.parse(payload), payload, 'a line must hold one JSON object');
  } catch (error) {
    return { kind: 'unreadable', place, reason: `bad JSON: ${(error as Error).message}`, payload };
  }
}

const jsonBytesMax = 256 * 1024 * 1024;

export async function* jsonArrayRows(path: string): AsyncGenerator<RawRow> {
  const { size } = await stat(path);
  if (size > jsonBytesMax) {
    throw questionsFileError(
      `${path} has ${size} bytes, and a JSON file, which is read whole, may have at most ${jsonBytesMax}; write it as JSON Lines (.jsonl)`,
    );
  }
  for (const [index, value] of elements(path, await readFile(path, 'utf8')).entries()) {
    yield row(index + 1, value, JSON.stringify(value), 'an element must be a JSON object');
  }
}

function elements(path: string, text: string): readonly unknown[] {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (cause) {
    const why = (cause as Error).message;
    throw questionsFileError(
      `${path} is not JSON: ${why}. If it is JSON Lines, rename it to end in .jsonl`,
      cause,
    );
  }
  if (Array.isArray(value)) return value;
  throw questionsFileError(`${path} must hold one array of objects, one per question`);
}

function row(place: number, value: unknown, payload: string, otherwise: string): RawRow {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { kind: 'unreadable', place, reason: otherwise, payload };
  }
  return { kind: 'fields', place, fields: value as Record<string, unknown>, payload };
}
