/**
 * Rows of JSON: a file of JSON Lines (one object per line; blank lines are skipped), or a file that holds one
 * array of objects. Either is read as a stream, one row in memory at a time, so a file may be of any size.
 *
 * Of an array `place` counts the elements from 1. An element that is not JSON by itself costs itself and
 * nothing after it, as long as its brackets and quotes close. A `.json` file of several objects, one per
 * line, is read as JSON Lines, as other loaders do.
 */
import { type JsonElement, jsonElements } from './jsonElements.ts';
import { lines } from './lines.ts';
import { questionsFileError, type RawRow } from './rawRow.ts';

export async function* jsonlRows(path: string): AsyncGenerator<RawRow> {
  for await (const line of lines(path)) {
    if (line.text === null) {
      yield { kind: 'unreadable', place: line.number, reason: line.reason, payload: '' };
    } else if (line.text.trim() !== '') {
      yield parsed(line.number, line.text, 'a line must be one JSON object');
    }
  }
}

export async function* jsonArrayRows(path: string): AsyncGenerator<RawRow> {
  for await (const element of jsonElements(path)) {
    if (element.kind === 'noArray') {
      if (!(await holdsLines(path))) throw notAnArray(path, element);
      yield* jsonlRows(path);
      return;
    }
    const { place } = element;
    if (element.kind === 'refused') {
      if (element.cut && place === 1) {
        throw questionsFileError(`${path} is not JSON: ${element.reason}. ${renamed}`);
      }
      yield { kind: 'unreadable', place, reason: element.reason, payload: element.text };
    } else {
      yield parsed(place, element.text, 'an element must be a JSON object');
    }
  }
}

const renamed = 'If it is JSON Lines, rename it to end in .jsonl';

/** Whether the first line is a complete object and more lines follow. */
async function holdsLines(path: string): Promise<boolean> {
  let objects = 0;
  for await (const { text } of lines(path)) {
    if (text?.trim() === '') continue;
    if (objects > 0) return true;
    if (text === null || parsed(1, text, '').kind !== 'fields') return false;
    objects++;
  }
  return false;
}

function notAnArray(path: string, { begins }: Extract<JsonElement, { kind: 'noArray' }>) {
  if (begins === '{') {
    return questionsFileError(`${path} must be one array of objects, one per row. ${renamed}`);
  }
  return questionsFileError(
    `${path} is not JSON: ${begins === '' ? 'it is empty' : `it begins with ${JSON.stringify(begins)}`}; a .json file must be one array of objects`,
  );
}

/** A row written as JSON; `otherwise` = what it must be. */
export function parsed(place: number, payload: string, otherwise: string): RawRow {
  try {
    const value: unknown = JSON.parse(payload);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return { kind: 'fields', place, fields: value as Record<string, unknown>, payload };
    }
    return { kind: 'unreadable', place, reason: otherwise, payload };
  } catch (error) {
    return {
      kind: 'unreadable',
      place,
      reason: `invalid JSON: ${(error as Error).message}`,
      payload,
    };
  }
}
