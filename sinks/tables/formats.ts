/** The formats that a command line can choose. */
import * as all from './all.ts';
import type { TableFormat } from './tableFile.ts';

/** By name. */
export const tableFormats: Readonly<Record<string, TableFormat>> = all;
