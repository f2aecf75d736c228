/**
 * Reads a Parquet file in a thread of its own, whose heap is bounded: what a file of a megabyte unpacks to
 * may be of any size.
 *
 * Guarantees: pages unpack to no more than `bytesMax` a row group, and no row group is larger than
 * `ROWS_MAX`.
 */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import {
  type AsyncBuffer,
  asyncBufferFromFile,
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
  snappyUncompress,
} from 'hyparquet';
import { serve } from '../base/index.ts';

/**
 * Of one row group, which is held as a whole; by default, writers make groups of at most a million rows.
 */
const ROWS_MAX = 1_100_000;
const VALUES_MAX = 12_000_000;

export interface OpenParquet {
  readonly path: string;
  /** That the pages of a row group may unpack to. */
  readonly bytesMax: number;
}

export interface ParquetHead {
  readonly columns: readonly string[];
  /** Rows of each row group. */
  readonly groups: readonly number[];
}

let file: AsyncBuffer;
let metadata: FileMetaData;
let bytesMax = 0;

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
  async group({ index, rowStart }: { readonly index: number; readonly rowStart: number }) {
    const group = metadata.row_groups[index]!;
    const rows = Number(group.num_rows);
    const values = group.columns.map(({ meta_data }) => Number(meta_data?.num_values ?? 0));
    const all = values.reduce((sum, count) => sum + count, 0);
    if (!(rows >= 0 && rows <= ROWS_MAX && all <= VALUES_MAX)) {
      throw new Error(`a row group has ${rows} rows and ${all} values; write smaller row groups`);
    }
    const options = { file, metadata, rowStart, rowEnd: rowStart + rows };
    return parquetReadObjects({ ...options, compressors: compressors() });
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
