/**
 * From an arrived row to a question, the same way for every endless source: missing fields are filled in, a
 * bad row is a dead letter with its place.
 *
 * A question without an id of its own is identified by what it asks: the same question and answers have the
 * same id wherever and whenever they come. So what a producer sends twice is asked once.
 */
import { createHash } from 'node:crypto';
import type { SourceItem } from '../../streams/index.ts';
import { deadRow, type RowFault } from '../openRows.ts';
import { type QuestionRow, questionRow, withDefaults } from '../questionRow.ts';
import type { RawRow } from '../rawRow.ts';

export const repeatsAre = ['once', 'again'] as const;

/** What a job expects of the questions that arrive. */
export interface ArrivalRules {
  /** What makes a question unusable for this job (its prompt is too long), or null. */
  readonly check?: (row: QuestionRow) => Omit<RowFault, 'key'> | null;
  /**
   * Whether a question whose id has come before is asked `once` (the default) or `again`, under an id of its
   * own.
   */
  readonly repeats?: (typeof repeatsAre)[number];
}

/** Where a row came from. */
export interface ArrivalPlace {
  /** File, or topic and partition, as in a dead letter; `RawRow.place` is the line or offset there. */
  readonly origin: string;
  /** The `source` of questions that name none. */
  readonly source: string;
  /** A text that no other row of this source has, for asking repeats again. */
  readonly unique: string;
  /** Every cell is text (CSV). */
  readonly text?: boolean;
}

export function arrival(
  row: RawRow,
  { origin, source, unique, text = false }: ArrivalPlace,
  { check, repeats = 'once' }: ArrivalRules,
): SourceItem<QuestionRow> {
  if (row.kind === 'unreadable') {
    return deadRow(origin, row, { field: '', key: '', reason: row.reason });
  }
  const id = `${source}-${contentOf(row.fields)}`;
  const checked = questionRow(withDefaults(row.fields, { source, id }), text);
  if ('complaint' in checked) return deadRow(origin, row, checked.complaint);
  const { value } = checked;
  const fault = check?.(value) ?? null;
  if (fault !== null) return deadRow(origin, row, { ...fault, key: value.id });
  return { value: repeats === 'once' ? value : { ...value, id: `${value.id}@${unique}` } };
}

/** Identifies the question and its answers; whatever else a row has (times, notes) does not count. */
function contentOf({ question, answers, answer }: Readonly<Record<string, unknown>>): string {
  const content = JSON.stringify([question ?? null, answers ?? answer ?? null]);
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}
