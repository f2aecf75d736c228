/** An evaluation as plain text. */

import { textTable } from '../../base/terminal/index.ts';
import type { Benchmarks } from '../benchmarks/benchmarks.ts';
import { duration } from '../format/numbers.ts';
import { benchmarksTable } from '../tables/benchmarks.ts';
import { cautionsOf, headOf } from './benchmarkLines.ts';

export function benchmarkText(benchmarks: Benchmarks): string {
  const parts = [
    `${benchmarks.run}: ${headOf(benchmarks)} · ${duration(benchmarks.seconds)}`,
    textTable(benchmarksTable(benchmarks).table),
    ...cautionsOf(benchmarks),
  ];
  return parts.join('\n\n');
}
