/**
 * Parquet, written a row group at a time (`ROW_GROUP`), so that memory is bounded whatever the
 * topic's size.
 */
import { fileWriter, ParquetWriter } from 'hyparquet-writer';
import type { Stored } from '../../streams/index.ts';
import { type TableFormat, written } from './tableFile.ts';

/** Limits of a row group: whichever comes first. */
const ROW_GROUP = { rows: 20_000, bytes: 16 * 2 ** 20 };

export const parquet: TableFormat = (path, rows) => {
  const columns = rows.columns();
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
};
