/**
 * Makes the quickstart's base policy: `npm run quickstart:base`.
 *
 * A decoder is fine-tuned on demonstrations (bad habits included) from worlds that no run uses: seeds from
 * 1,000,000 on, a new one every 200 demonstrations. It learns the form of a trajectory, single-digit sums,
 * and to copy from a result; it cannot learn a run's facts. The small world's begins from nothing, the hard
 * one's (`--world hard`) from the small one's, whose vocabulary it adds to. Writes policy.safetensors and
 * tokenizer.json.
 *
 * Options: --world small|hard, --steps N (2000; hard 900), --threads N (2), --out FOLDER, --report N (100).
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { EmbeddedTrainer, initialise, openPolicy, wordTokenizer } from 'millrace';
import type { Tensors, TrainSequence } from 'millrace/model';
import { CONFIG } from './policy.ts';
import { vocabulary } from './world/vocabulary.ts';
import { type Demonstration, worldNames, worlds } from './world/worlds.ts';

const FIRST_WORLD = 1_000_000;
const PER_WORLD = 200;
const BATCH = 64;
const WARMUP = 100;

const here = dirname(fileURLToPath(import.meta.url));
const { values } = parseArgs({
  options: {
    world: { type: 'string', default: 'small' },
    steps: { type: 'string' },
    threads: { type: 'string', default: '2' },
    report: { type: 'string', default: '100' },
    out: { type: 'string' },
  },
});
const world = worldNames.find((name) => name === values.world);
if (world === undefined)
  throw new Error(`--world takes ${worldNames.join(' or ')}; given: ${values.world}`);
const form = worlds[world];
const isFirst = world === 'small';
const steps = Number(values.steps ?? (isFirst ? 2000 : 900));
const out = values.out ?? join(here, form.base);
const highest = isFirst ? 2e-3 : 1e-3;

const words = vocabulary(form.words);
const tokenizer = wordTokenizer(words);

/**
 * A demonstration as a training sequence. The whole response is a target, results included (as in ET-Agent's
 * fine-tuning): a repeated search shows the same text twice, which teaches copying.
 */
function sequence({ task, pieces }: Demonstration): TrainSequence {
  const tokens: number[] = [...tokenizer.encode(`<|question|>${task.question}<|end|>`)];
  const mask: number[] = tokens.map(() => 0);
  for (const piece of pieces) {
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

/** Endless demonstrations, one world after another. */
function* demonstrations(): Generator<TrainSequence> {
  for (let seed = FIRST_WORLD; ; seed++) {
    for (const one of form.make(seed).demonstrations(PER_WORLD)) yield sequence(one);
  }
}

function take<T>(source: Generator<T>, count: number): T[] {
  return Array.from({ length: count }, () => source.next().value as T);
}

/** Linear warm-up, then a cosine to a tenth. */
function rate(step: number): number {
  if (step < WARMUP) return (highest * (step + 1)) / WARMUP;
  const done = (step - WARMUP) / Math.max(1, steps - WARMUP);
  return highest * (0.1 + 0.45 * (1 + Math.cos(Math.PI * done)));
}

/** Fresh tensors, or those of the small world's policy with fresh rows for the new words. */
async function firstTensors(): Promise<Tensors> {
  const fresh = new Map(initialise(config, 1));
  if (isFirst) return fresh;
  const policy = await openPolicy(join(here, worlds.small.base, 'policy.safetensors'));
  for (const [name, { shape, data }] of fresh) {
    const old = await policy.read(name);
    const grown = Float32Array.from(data);
    grown.set(old.data);
    fresh.set(name, { shape, data: grown });
  }
  await policy.close();
  return fresh;
}

await mkdir(out, { recursive: true });
await writeFile(join(out, 'tokenizer.json'), `${JSON.stringify(words, null, 1)}\n`);
const config = { ...CONFIG, vocabSize: tokenizer.vocabSize };
const path = join(out, 'policy.safetensors');
const trainer = await EmbeddedTrainer.create({
  policy: { config, tensors: await firstTensors() },
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
