/** The formats by their names, which are also file extensions. */
export { jsonl } from './jsonl.ts';
export { parquet } from './parquet.ts';
