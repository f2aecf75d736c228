/** Topics as Parquet or JSON Lines. */
export { columnsOf } from './columns.ts';
export { partitionedFiles } from './partitioned.ts';
export { linesFile, parquetFile, type TableFile } from './tableFile.ts';
