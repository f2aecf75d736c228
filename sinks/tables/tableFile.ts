/** A file of records being written. `millrace export --to NAME` chooses one of the formats in `all.ts`. */
import { about } from '../../base/index.ts';
import type { Stored } from '../../streams/index.ts';
import type { Column } from './columns.ts';

export interface TableFile {
  add(stored: Stored<unknown>): void;
  finish(): void;
}

/** Records in a form that any format can write. */
export interface Rows {
  /** Fails with code `USAGE` if the topic's columns are unknown. */
  readonly columns: () => readonly Column[];
  /** A record as one line of JSON. */
  readonly line: (stored: Stored<unknown>) => string;
}

/** Creates a file at a path. */
export type TableFormat = (path: string, rows: Rows) => TableFile;

/** The system's refusals concern the file. */
export function written(path: string, write: () => unknown): void {
  try {
    write();
  } catch (error) {
    throw about(path, error);
  }
}
