/**
 * The memory that training takes, compared with what the check before a run predicts: `npm run bench:memory`.
 *
 * Each measurement is the peak of a process of its own: two steps of `clipped`, and a save.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parameterCount } from '../jobs/parts/memory.ts';
import { largestPart, trainingMemory } from '../jobs/parts/trainingMemory.ts';
import { initialise } from '../model/config.ts';
import { savePolicy } from '../model/policyFile.ts';
import type { Settings } from './memory/child.ts';
import { SHAPES, type ShapeName } from './memory/shapes.ts';
import { benchmark, count, someOf } from './options.ts';
import { print, type Row } from './table.ts';

interface Options {
  readonly shapes: readonly ShapeName[];
  readonly rows: number;
  readonly length: number;
  readonly json: boolean;
}

const names = Object.keys(SHAPES) as ShapeName[];
const KINDS = [
  { kind: 'full', recompute: false },
  { kind: 'full', recompute: true },
  { kind: 'merged', recompute: false },
  { kind: 'adapter', recompute: false },
] as const;

const options = benchmark(
  'npm run bench:memory',
  `The most memory that a process takes that trains, with what the check before a run says of it. Linux only; 12 GB are
needed for the largest.`,
)
  .option('--shapes <NAMES>', `some of ${names.join()}`, someOf(names), names)
  .option('--rows <N>', 'sequences of a batch', count, 4)
  .option('--length <N>', 'tokens of each', count, 512)
  .parse()
  .opts<Options>();

/** Bytes. */
function measured(settings: Settings): number {
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const script = fileURLToPath(new URL('memory/child.ts', import.meta.url));
  const args = ['--import', loader, script, JSON.stringify(settings)];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

function rowsOf(shape: ShapeName, folder: string): Row[] {
  const config = SHAPES[shape];
  const { rows, length } = options;
  const part = largestPart(config, length);
  return KINDS.map((training): Row => {
    const theirs = measured({ shape, folder, ...training, rows, length }) / 2 ** 20;
    const ours = trainingMemory(config, parameterCount(config), training, part) / 2 ** 20;
    const what = `memory to train ${shape} ${rows}x${length}, ${training.kind}`;
    return {
      what: `${what}${training.recompute ? ', recomputed' : ''}`,
      against: 'the peak of a process',
      ...{ ratio: ours / theirs, goal: null, unit: 'MiB', ours, theirs },
    };
  });
}

const folder = mkdtempSync(join(tmpdir(), 'memory-'));
try {
  const rows: Row[] = [];
  for (const shape of options.shapes) {
    const config = SHAPES[shape];
    const tensors = initialise(config, 1);
    await savePolicy(join(folder, `${shape}.safetensors`), { config, tensors });
    rows.push(...rowsOf(shape, folder));
  }
  print('memory', rows, options.json);
} finally {
  rmSync(folder, { recursive: true });
}
