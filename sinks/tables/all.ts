/** The formats by their names, which are the endings of their files. */
export { jsonl } from './jsonl.ts';
export { parquet } from './parquet.ts';
