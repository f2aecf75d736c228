/** An evaluation as plain text. */

import type { Benchmarks } from '../benchmarks.ts';
import { duration } from '../format/numbers.ts';
import { benchmarksTable } from '../tables/benchmarks.ts';
import { cautionsOf, headOf } from './benchmarkLines.ts';
import { textTable } from './table.ts';

export function benchmarkText(benchmarks: Benchmarks): string {
  const parts = [
    `${benchmarks.run}: ${headOf(benchmarks)} · ${duration(benchmarks.seconds)}`,
    textTable(benchmarksTable(benchmarks).table),
    ...cautionsOf(benchmarks),
  ];
  return parts.join('\n\n');
}
