/** Text for a terminal: tables, colours, lines as wide as the terminal. */
export { colours } from './colours.ts';
export { columns, type Table } from './columns.ts';
export { jsonText, plain } from './plain.ts';
export { table, textTable } from './table.ts';
export { folded, wrapped } from './wrapped.ts';
