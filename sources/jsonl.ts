/** Rows of a JSON Lines file: one JSON object a line; blank lines are passed over. */
import { lines } from './lines.ts';
import type { RawRow } from './rawRow.ts';

export async function* jsonlRows(path: string): AsyncGenerator<RawRow> {
  for await (const line of lines(path)) {
    if (line.text === null) {
      yield { kind: 'unreadable', place: line.number, reason: line.reason, payload: '' };
    } else if (line.text.trim() !== '') {
      yield parse(line.number, line.text);
    }
  }
}

function parse(place: number, payload: string): RawRow {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch (error) {
    return { kind: 'unreadable', place, reason: `bad JSON: ${(error as Error).message}`, payload };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { kind: 'unreadable', place, reason: 'a line must hold one JSON object', payload };
  }
  return { kind: 'fields', place, fields: value as Record<string, unknown>, payload };
}
