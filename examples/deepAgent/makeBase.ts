/**
 * Makes the base policy of the DeepAgent example: `npx tsx examples/deepAgent/makeBase.ts`.
 *
 * A decoder of 0.3 million parameters is fine-tuned on episodes (bad habits included) of worlds that no run
 * uses: seeds from 1,000,000 on, a new one every 100 episodes. A folded episode gives a sequence for each of
 * its contexts. Writes policy.safetensors and tokenizer.json.
 *
 * Options: --steps N (2200), --threads N (2), --from FILE (goes on from that policy), --rate N (0.003), --out
 * FOLDER, --report N (100).
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type DecoderConfig, EmbeddedTrainer, initialise, wordTokenizer } from 'millrace';
import type { TrainSequence } from 'millrace/model';
import { bm25Retriever, functionText } from 'millrace/operators';
import { smallDialect } from './dialect.ts';
import { demonstrate, functionsByName, type ShownRound, TOP } from './world/demonstrations.ts';
import { functions } from './world/functions.ts';
import { makeTasks } from './world/tasks.ts';
import { vocabulary } from './world/vocabulary.ts';

const CONFIG: Omit<DecoderConfig, 'vocabSize'> = {
  architecture: 'qwen2',
  hiddenSize: 96,
  layers: 3,
  heads: 4,
  kvHeads: 2,
  intermediateSize: 256,
  ropeTheta: 10000,
  rmsEps: 1e-6,
  attentionBias: false,
  tiedEmbeddings: true,
};
const FIRST_WORLD = 1_000_000;
const PER_WORLD = 100;
const BATCH = 48;
const WARMUP = 60;

const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '2200' },
    threads: { type: 'string', default: '2' },
    report: { type: 'string', default: '100' },
    rate: { type: 'string', default: '0.003' },
    from: { type: 'string' },
    out: { type: 'string', default: join(dirname(fileURLToPath(import.meta.url)), 'base') },
  },
});
const steps = Number(values.steps);
const highest = Number(values.rate);
const words = vocabulary();
const tokenizer = wordTokenizer(words);
const dialect = smallDialect(tokenizer);
const retriever = await bm25Retriever(
  functions.map((doc) => ({ id: doc.name, contents: functionText(doc) })),
  new AbortController().signal,
);

async function find(query: string) {
  const [hits = []] = await retriever.retrieve([query], TOP, new AbortController().signal);
  return hits.map(({ id }) => functionsByName.get(id)!);
}

/**
 * A round as a training sequence. The whole response is a target, including the answers of functions: the
 * question's words occur there again, which teaches copying.
 */
function sequence({ message, pieces }: ShownRound, last: boolean): TrainSequence {
  const tokens = [...dialect.message(message)];
  const mask = tokens.map(() => 0);
  for (const { by, text } of pieces) {
    const own = by === 'policy';
    const more = own || by === 'harness' ? tokenizer.encode(text) : dialect.observed(by, text);
    tokens.push(...more);
    for (let i = 0; i < more.length; i++) mask.push(1);
  }
  if (last) {
    tokens.push(tokenizer.endToken);
    mask.push(1);
  }
  return {
    tokens: Int32Array.from(tokens),
    mask: Uint8Array.from(mask),
    advantages: new Float32Array(tokens.length),
    oldLogProbs: new Float32Array(tokens.length),
  };
}

/** Endless demonstrations, one world after another. */
async function* demonstrations(): AsyncGenerator<TrainSequence> {
  for (let seed = FIRST_WORLD; ; seed++) {
    for (const [i, task] of makeTasks(seed, 'base', PER_WORLD).entries()) {
      const rounds = await demonstrate(seed, i, task, find);
      for (const [j, round] of rounds.entries()) yield sequence(round, j === rounds.length - 1);
    }
  }
}

/** Linear warm-up, then a cosine to a tenth. */
function rate(step: number): number {
  if (step < WARMUP) return (highest * (step + 1)) / WARMUP;
  const done = (step - WARMUP) / Math.max(1, steps - WARMUP);
  return highest * (0.1 + 0.45 * (1 + Math.cos(Math.PI * done)));
}

await mkdir(values.out, { recursive: true });
await writeFile(join(values.out, 'tokenizer.json'), `${JSON.stringify(words, null, 1)}\n`);
const config = { ...CONFIG, vocabSize: tokenizer.vocabSize };
const trainer = await EmbeddedTrainer.create({
  policy: values.from ?? { config, tensors: new Map(initialise(config, 1)) },
  threads: Number(values.threads),
});
const source = demonstrations();
const path = join(values.out, 'policy.safetensors');
for (let step = 0; step < steps; step++) {
  const sequences: TrainSequence[] = [];
  while (sequences.length < BATCH) {
    const { value } = await source.next();
    sequences.push(value as TrainSequence);
  }
  const report = await trainer.step({ sequences, loss: { name: 'sft' }, lr: rate(step) });
  if ((step + 1) % Number(values.report) === 0 || step + 1 === steps) {
    const speed = ((report.tokens / report.ms) * 1000).toFixed(0);
    console.error(`step ${step + 1}/${steps} loss ${report.loss.toFixed(4)} ${speed} tokens/s`);
    await trainer.write(path);
  }
}
await trainer.close();
