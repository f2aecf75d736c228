/** JSON Lines, with the columns of Parquet; numbers that JSON lacks are their names ("Infinity", "NaN"). */
import { closeSync, openSync, writeSync } from 'node:fs';
import { type TableFormat, written } from './tableFile.ts';

const LINES_BYTES = 2 ** 20;

export const jsonl: TableFormat = (path, { line: text }) => {
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
};
