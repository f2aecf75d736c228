/** The exporters that a command line can choose. */
import * as all from './all.ts';
import type { Exporter } from './exporter.ts';

/** By name. */
export const exporters: Readonly<Record<string, Exporter>> = all;
