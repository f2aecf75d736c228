/** Topics as Parquet or JSON Lines. */
export { type Column, columnsOf, rowColumns } from './columns.ts';
export { tableFormats } from './formats.ts';
export { partitionedFiles } from './partitioned.ts';
export type { TableFile } from './tableFile.ts';
