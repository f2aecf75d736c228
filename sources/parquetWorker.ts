/**
 * Reads a Parquet file in a thread of its own, whose heap is bounded: what a file of a megabyte unpacks to
 * may be of any size. A row group is held as columns, in which equal values are one; its rows are made a few
 * at a time.
 *
 * Guarantees: pages unpack to no more than `bytesMax` a row group, and no row group is larger than
 * `ROWS_MAX`.
 */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import {
  type AsyncBuffer,
  asyncBufferFromFile,
  type ColumnData,
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetRead,
  snappyUncompress,
} from 'hyparquet';
import { serve } from '../base/index.ts';

/** For one row group, which is held as a whole; by default, writers make groups of at most a million rows. */
const ROWS_MAX = 1_100_000;
const VALUES_MAX = 12_000_000;

export interface OpenParquet {
  readonly path: string;
  /** Limit of a row group's decompressed pages. */
  readonly bytesMax: number;
}

export interface ParquetHead {
  readonly columns: readonly string[];
  /** Rows of each row group. */
  readonly groups: readonly number[];
}

/** From the first to before the last, counted through the file. */
export interface RowRange {
  readonly from: number;
  readonly to: number;
}

export type Fields = Readonly<Record<string, unknown>>;

let file: AsyncBuffer;
let metadata: FileMetaData;
let bytesMax = 0;
/** Those of the row group loaded last. */
let loaded: readonly ColumnData[] = [];

serve({
  async open(given: OpenParquet): Promise<ParquetHead> {
    bytesMax = given.bytesMax;
    file = await asyncBufferFromFile(given.path);
    metadata = await parquetMetadataAsync(file);
    return {
      columns: columnsOf(metadata.schema),
      groups: metadata.row_groups.map(({ num_rows }) => Number(num_rows)),
    };
  },
  /** Loads a row group; `rowStart` is its first row, counted through the file. */
  async load({
    index,
    rowStart,
  }: {
    readonly index: number;
    readonly rowStart: number;
  }): Promise<void> {
    const group = metadata.row_groups[index]!;
    const rows = Number(group.num_rows);
    const values = group.columns.map(({ meta_data }) => Number(meta_data?.num_values ?? 0));
    const all = values.reduce((sum, count) => sum + count, 0);
    if (!(rows >= 0 && rows <= ROWS_MAX && all <= VALUES_MAX)) {
      throw new Error(`a row group has ${rows} rows and ${all} values; write smaller row groups`);
    }
    loaded = [];
    const columns: ColumnData[] = [];
    await parquetRead({
      ...{ file, metadata, rowStart, rowEnd: rowStart + rows, compressors: compressors() },
      onChunk: (chunk) => void columns.push(chunk),
    });
    loaded = columns;
  },
  /** Rows of the loaded group. */
  rows({ from, to }: RowRange): readonly Fields[] {
    const names = columnsOf(metadata.schema);
    const rows = Array.from({ length: to - from }, (): Record<string, unknown> => {
      return Object.fromEntries(names.map((name) => [name, undefined]));
    });
    for (const { columnName, columnData, rowStart, rowEnd } of loaded) {
      for (let at = Math.max(from, rowStart); at < Math.min(to, rowEnd); at++) {
        rows[at - from]![columnName] = columnData[at - rowStart];
      }
    }
    return rows;
  },
});

/** For one row group. */
function compressors(): Compressors {
  let left = bytesMax;
  const paid = (bytes: number): number => {
    left -= bytes;
    if (left < 0) throw new Error('its pages decompress to an implausible size');
    return bytes;
  };
  return {
    SNAPPY: (input, length) => {
      const output = new Uint8Array(paid(length));
      snappyUncompress(input, output);
      return output;
    },
    GZIP: (input, length) => gunzipSync(input, { maxOutputLength: paid(length) }),
    BROTLI: (input, length) => brotliDecompressSync(input, { maxOutputLength: paid(length) }),
  };
}

function columnsOf(schema: FileMetaData['schema']): string[] {
  const names: string[] = [];
  // The schema is a tree in preorder: `left` counts what is still to come at each level below the root.
  const left: number[] = [];
  for (const { name, num_children: children = 0 } of schema.slice(1)) {
    if (left.length === 0) names.push(name);
    else left.push(left.pop()! - 1);
    if (children > 0) left.push(children);
    while (left.at(-1) === 0) left.pop();
  }
  return names;
}
