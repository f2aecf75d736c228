/**
 * A real pretrained model, SmolLM2-135M-Instruct, against transformers, PyTorch, PEFT and llama.cpp:
 * `npm run bench:real`.
 *
 * The parts of bench:model on a model that people have, as they use it: one row and a group of 16, all
 * weights and an adapter, one thread and two, a whole small step of RL, what saving costs, and the way from
 * the command to the first rollout. Both sides read the same folder; what they compute has to agree before it
 * is timed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { AnyRow, Bench } from './model/bench.ts';
import { peakRows } from './model/memoryRows.ts';
import { Yardstick } from './model/python.ts';
import { llamaCpp, rivalRow, transformers, type Work } from './model/rolloutRows.ts';
import { prompt } from './model/sequences.ts';
import { SHAPES } from './model/shapes.ts';
import { settingRows } from './model/trainRows.ts';
import { benchmark, counts, someOf } from './options.ts';
import { realModel } from './real/realModel.ts';
import { saveRows } from './real/saveRows.ts';
import { startRow } from './real/startRow.ts';
import { stepRow } from './real/stepRow.ts';
import { print, report } from './table.ts';

/** Nats: any of 64 tokens drawn; 0.07 on average. */
const EIGHT_BITS_WITHIN = 1.5;
const [PROMPT, MADE, GROUP, RANK] = [82, 64, 16, 8];
/** A batch to train on. */
const [ROWS, LENGTH] = [4, 128];

interface Real extends Bench {
  /** The model's folder. */
  readonly path: string;
  readonly threads: readonly number[];
}

/** Decoding with the prompt's prefill, one rollout and a group of a question. */
async function* decodeRows(bench: Real): AsyncGenerator<AnyRow[]> {
  for (const threads of bench.threads)
    for (const group of [1, GROUP]) {
      const lengths = Array.from({ length: group }, () => MADE);
      const tokens = group * MADE;
      const prompts = [prompt(SHAPES['135M'], 'real', PROMPT)];
      const work: Work = { prompts, lengths, tokens, group, rows: group, threads };
      const what = `${group} x ${MADE} tokens after ${PROMPT}, ${threads} thr`;
      const rivals = [transformers(2.5, [group]), llamaCpp(group === 1 ? null : 1, true)];
      for (const rival of rivals) yield [await rivalRow(bench, what, bench.path, work, rival)];
      const eightBits = { ...transformers(2.5, [group]), within: EIGHT_BITS_WITHIN };
      const less = { ...work, bits: 'int8' } as const;
      yield [await rivalRow(bench, `${what}, in 8 bits`, bench.path, less, eightBits)];
    }
}

async function* trainRows(bench: Real): AsyncGenerator<AnyRow[]> {
  const torch = Yardstick.start('train', ['torch', 'transformers', 'peft']);
  try {
    for (const threads of bench.threads)
      for (const adapter of [{}, { rank: RANK }]) {
        const setting = {
          name: '135M',
          rows: ROWS,
          path: bench.path,
          threads,
          ...adapter,
        } as const;
        yield* settingRows(bench, { ...setting, losses: ['SFT'], goal: 1.5 }, torch);
      }
  } finally {
    if (torch instanceof Yardstick) await torch.close();
  }
}

async function* memoryRows({ path }: Real): AsyncGenerator<AnyRow[]> {
  const setting = { name: '135M', path, rows: ROWS, length: LENGTH } as const;
  yield await peakRows(setting);
  yield await peakRows({ ...setting, rank: RANK });
}

/** A process's memory is counted before others have grown it. */
const PARTS = {
  memory: memoryRows,
  decode: decodeRows,
  train: trainRows,
  step: stepRow,
  save: saveRows,
  start: startRow,
} satisfies Record<string, (bench: Real) => AsyncIterable<AnyRow[]>>;

const parts = Object.keys(PARTS) as (keyof typeof PARTS)[];
const { only, quick, json, model, threads } = benchmark(
  'npm run bench:real',
  `A real pretrained model (SmolLM2-135M-Instruct) beside transformers, PyTorch with PEFT, and llama.cpp, which are
installed from PyPI, once; a row says so where one is missing. Needs a build (npm run build).`,
)
  .option('--only <a,b>', `only these parts: some of ${parts.join()}`, someOf(parts), parts)
  .option('--model <FOLDER>', 'its folder; without it, npm run real-model makes one')
  .option('--threads <N,N>', 'threads that both sides have', counts, [1, 2])
  .option('--quick', 'fewer turns: to see that it runs', false)
  .parse()
  .opts<{
    only: typeof parts;
    quick: boolean;
    json: boolean;
    model?: string;
    threads: readonly number[];
  }>();

const load = () => loadavg()[0]!.toFixed(1);
const folder = mkdtempSync(join(tmpdir(), 'bench-real-'));
const path = resolve(model ?? realModel());
const bench: Real = { quick, folder, turns: quick ? 1 : 5, path, threads };
const before = load();
try {
  const rows: AnyRow[] = [];
  for (const name of only) {
    console.error(`${name} …`);
    for await (const some of PARTS[name](bench)) {
      rows.push(...some);
      for (const row of some) console.error(report('', [row], true));
    }
  }
  if (!json)
    console.log(
      `${availableParallelism()} threads of ${cpus()[0]?.model.trim()}, Node ${process.version}; load average ${before} before, ${load()} after`,
    );
  print('A real model', rows, json);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
