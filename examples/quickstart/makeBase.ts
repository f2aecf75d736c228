/**
 * Makes the quickstart's base policy from nothing: `npm run quickstart:base`.
 *
 * A fresh decoder is fine-tuned on demonstrations (bad habits included) from worlds that no run uses: seeds from
 * 1,000,000 on, a new one every 200 demonstrations. It learns the form of a trajectory, single-digit sums, and to
 * copy from a result; it cannot learn a run's facts. Writes base/policy.safetensors and base/tokenizer.json.
 *
 * Options: --steps N (2000), --threads N (2), --out FOLDER, --report N (100).
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { EmbeddedTrainer, initialise, wordTokenizer } from 'millrace';
import type { TrainSequence } from 'millrace/model';
import { CONFIG } from './policy.ts';
import { answers, demonstrate, habitDraws } from './world/demonstrations.ts';
import { makeTasks, type Task } from './world/tasks.ts';
import { vocabulary } from './world/vocabulary.ts';
import { makeWorld, type World } from './world/world.ts';

const FIRST_WORLD = 1_000_000;
const PER_WORLD = 200;
const BATCH = 64;
const LR = 2e-3;
const WARMUP = 100;

const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '2000' },
    threads: { type: 'string', default: '2' },
    report: { type: 'string', default: '100' },
    out: { type: 'string', default: join(dirname(fileURLToPath(import.meta.url)), 'base') },
  },
});
const steps = Number(values.steps);

const words = vocabulary();
const tokenizer = wordTokenizer(words);

/**
 * A demonstration as a training sequence. All of the response is a target, results too (as in ET-Agent's
 * fine-tuning): a search made twice shows the same text twice, and that is where copying is learnt.
 */
function sequence(task: Task, world: World, index: number): TrainSequence {
  const tokens: number[] = [...tokenizer.encode(`<|question|>${task.question}<|end|>`)];
  const mask: number[] = tokens.map(() => 0);
  for (const piece of demonstrate(task, world, habitDraws(world, index), answers(world))) {
    const encoded = tokenizer.encode(piece.text);
    tokens.push(...encoded);
    for (let i = 0; i < encoded.length; i++) mask.push(1);
  }
  return {
    tokens: Int32Array.from(tokens),
    mask: Uint8Array.from(mask),
    advantages: new Float32Array(tokens.length),
    oldLogProbs: new Float32Array(tokens.length),
  };
}

/** Demonstrations without end, world after world. */
function* demonstrations(): Generator<TrainSequence> {
  for (let seed = FIRST_WORLD; ; seed++) {
    const world = makeWorld(seed);
    const tasks = makeTasks(world, 'base', PER_WORLD);
    for (const [i, task] of tasks.entries()) yield sequence(task, world, i);
  }
}

function take<T>(source: Generator<T>, count: number): T[] {
  return Array.from({ length: count }, () => source.next().value as T);
}

/** Linear warm-up, then a cosine to a tenth. */
function rate(step: number): number {
  if (step < WARMUP) return (LR * (step + 1)) / WARMUP;
  const done = (step - WARMUP) / Math.max(1, steps - WARMUP);
  return LR * (0.1 + 0.45 * (1 + Math.cos(Math.PI * done)));
}

await mkdir(values.out, { recursive: true });
await writeFile(join(values.out, 'tokenizer.json'), `${JSON.stringify(words, null, 1)}\n`);
const config = { ...CONFIG, vocabSize: tokenizer.vocabSize };
const path = join(values.out, 'policy.safetensors');
const trainer = await EmbeddedTrainer.create({
  policy: { config, tensors: initialise(config, 1) },
  threads: Number(values.threads),
});
const source = demonstrations();
let tokens = 0;
let ms = 0;
for (let step = 0; step < steps; step++) {
  const report = await trainer.step({
    sequences: take(source, BATCH),
    loss: { name: 'sft' },
    lr: rate(step),
  });
  tokens += report.tokens;
  ms += report.ms;
  if ((step + 1) % Number(values.report) === 0 || step + 1 === steps) {
    const speed = ((tokens / ms) * 1000).toFixed(0);
    console.error(`step ${step + 1}/${steps} loss ${report.loss.toFixed(4)} ${speed} tokens/s`);
    await trainer.write(path);
  }
}
await trainer.close();
