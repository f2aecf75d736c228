/**
 * What a format reader yields: the fields of one row, or why it could not be read. Nothing is checked
 * yet; `questionRow` does that, once, for all formats.
 */
import { MillraceError } from '../base/index.ts';

/** Fields by name as the file gives them. `place` is a line (or, in Parquet, a row), from 1. */
export interface Fields {
  readonly kind: 'fields';
  readonly place: number;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The row as text, for a dead letter. */
  readonly payload: string;
}

export interface Unreadable {
  readonly kind: 'unreadable';
  readonly place: number;
  readonly reason: string;
  readonly payload: string;
}

export type RawRow = Fields | Unreadable;

/** What a value is, for messages: `a list`, `an object`. */
export function kindName(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** The whole file is unusable; the message says what to do. */
export function questionsFileError(message: string, cause?: unknown): MillraceError {
  return new MillraceError('QUESTIONS_FILE', message, cause === undefined ? {} : { cause });
}
