/**
 * A file of records in the making, as Parquet or as JSON Lines.
 *
 * Parquet is written a row group at a time (`ROW_GROUP`), so what waits in memory is bounded whatever the
 * topic's size. JSON Lines have the columns of Parquet; numbers that JSON lacks are their names ("Infinity",
 * "NaN").
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { fileWriter, ParquetWriter } from 'hyparquet-writer';
import { about } from '../../base/index.ts';
import type { Stored } from '../../streams/index.ts';
import type { Column } from './columns.ts';

export interface TableFile {
  add(stored: Stored<unknown>): void;
  finish(): void;
}

/** What a row group has at most: whichever comes first. */
const ROW_GROUP = { rows: 20_000, bytes: 16 * 2 ** 20 };
const LINES_BYTES = 2 ** 20;

export function parquetFile(path: string, columns: readonly Column[]): TableFile {
  const root = { name: 'root', num_children: columns.length };
  const schema = [root, ...columns.flatMap(({ elements }) => elements)];
  const writer = new ParquetWriter({ writer: fileWriter(path), schema, createdBy: 'millrace' });
  let waiting: Stored<unknown>[] = [];
  let bytes = 0;
  const group = (): void => {
    const columnData = columns.map(({ name, of }) => ({ name, data: waiting.map(of) }));
    written(path, () => writer.write({ columnData, rowGroupSize: Math.max(1, waiting.length) }));
    waiting = [];
    bytes = 0;
  };
  return {
    add(stored) {
      waiting.push(stored);
      bytes += stored.bytes;
      if (waiting.length >= ROW_GROUP.rows || bytes >= ROW_GROUP.bytes) group();
    },
    finish() {
      if (waiting.length > 0) group();
      written(path, () => writer.finish());
    },
  };
}

/** `text` = a record as one line of JSON. */
export function linesFile(path: string, text: (stored: Stored<unknown>) => string): TableFile {
  const file = openSync(path, 'w');
  let waiting: string[] = [];
  let bytes = 0;
  const write = (): void => {
    written(path, () => writeSync(file, waiting.join('')));
    waiting = [];
    bytes = 0;
  };
  return {
    add(stored) {
      const line = `${text(stored)}\n`;
      waiting.push(line);
      bytes += line.length;
      if (bytes >= LINES_BYTES) write();
    },
    finish() {
      write();
      closeSync(file);
    },
  };
}

/** What the system refuses is about the file. */
function written(path: string, write: () => unknown): void {
  try {
    write();
  } catch (error) {
    throw about(path, error);
  }
}
