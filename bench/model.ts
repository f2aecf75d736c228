/**
 * The policy against PyTorch, transformers, llama.cpp and the limits of the machine: `npm run bench:model`.
 *
 * Ours and theirs have the same weights and sequences and take turns in one run; medians are compared, and
 * what they compute has to agree before it is timed. The yardsticks are installed from PyPI, once
 * (model/python.ts).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { adapterRows } from './model/adapterRows.ts';
import type { AnyRow, Bench } from './model/bench.ts';
import { decodeRows, prefillRows } from './model/decodeRows.ts';
import { memoryRows } from './model/memoryRows.ts';
import { publishRows } from './model/publishRows.ts';
import { rolloutRows } from './model/rolloutRows.ts';
import { trainRows } from './model/trainRows.ts';
import { benchmark, someOf } from './options.ts';
import { print, report } from './table.ts';

/** In the order in which they are measured; a process's memory is counted before others have grown it. */
const PARTS = {
  adapter: adapterRows,
  memory: memoryRows,
  train: trainRows,
  decode: decodeRows,
  prefill: prefillRows,
  rollouts: rolloutRows,
  publish: publishRows,
} satisfies Record<string, (bench: Bench) => Promise<AnyRow[]> | AsyncIterable<AnyRow[]>>;

const parts = Object.keys(PARTS) as (keyof typeof PARTS)[];
const { only, quick, json } = benchmark(
  'npm run bench:model',
  `Training, rollouts and prefill of the policy beside PyTorch, transformers, llama.cpp and what the machine can do.
They are installed from PyPI, once; a row says so where one is missing.`,
)
  .option('--only <a,b>', `only these parts: some of ${parts.join()}`, someOf(parts), parts)
  .option('--quick', 'fewer turns and less work in a turn: to see that it runs', false)
  .parse()
  .opts<{ only: typeof parts; quick: boolean; json: boolean }>();

const load = () => loadavg()[0]!.toFixed(1);
const folder = mkdtempSync(join(tmpdir(), 'bench-model-'));
const bench: Bench = { quick, folder, turns: quick ? 1 : 5 };
const before = load();
try {
  const rows: AnyRow[] = [];
  for (const name of only) {
    console.error(`${name} …`);
    const found = PARTS[name](bench);
    for await (const some of found instanceof Promise ? [found] : found) {
      rows.push(...some);
      for (const row of some) console.error(report('', [row], true));
    }
  }
  if (!json)
    console.log(
      `${availableParallelism()} threads of ${cpus()[0]?.model.trim()}, Node ${process.version}; load average ${before} before, ${load()} after`,
    );
  print('Policy', rows, json);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
