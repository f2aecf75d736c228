/**
 * Records partitioned by the value of one of their fields, one folder per value (`step=12/0.parquet`), as
 * DuckDB, Spark and pandas read them.
 *
 * A few folders have a file open at a time. A value that comes again after its file was finished gets another
 * file, so records may come in any order and memory stays bounded.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Stored } from '../../streams/index.ts';
import type { TableFile } from './tableFile.ts';

const OPEN_MAX = 8;

export interface Partitioned {
  readonly folder: string;
  readonly field: string;
  /** Name of the value in a record; null if it has none. */
  readonly value: (stored: Stored<unknown>) => string | null;
  /** Without a dot. */
  readonly extension: string;
  readonly open: (path: string) => TableFile;
}

/** What pandas and Hive call the folder of records without a value. */
const NONE = '__HIVE_DEFAULT_PARTITION__';

export function partitionedFiles(options: Partitioned): TableFile {
  const { folder, field, value, extension, open } = options;
  const files = new Map<string, number>();
  /** The most recently written comes last. */
  const opened = new Map<string, TableFile>();
  const fileOf = (name: string): TableFile => {
    const known = opened.get(name);
    opened.delete(name);
    const [oldest] = opened;
    if (known === undefined && opened.size >= OPEN_MAX) {
      oldest![1].finish();
      opened.delete(oldest![0]);
    }
    const file = known ?? fresh(name);
    opened.set(name, file);
    return file;
  };
  const fresh = (name: string): TableFile => {
    const place = join(folder, `${field}=${encodeURIComponent(name)}`);
    mkdirSync(place, { recursive: true });
    const number = files.get(name) ?? 0;
    files.set(name, number + 1);
    return open(join(place, `${number}.${extension}`));
  };
  return {
    add: (stored) => fileOf(value(stored) ?? NONE).add(stored),
    finish() {
      for (const file of opened.values()) file.finish();
    },
  };
}
