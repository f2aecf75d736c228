/**
 * A whole small step of RL: two questions with eight rollouts each, a step on them, and the new weights in
 * the engine; against transformers and PyTorch, which are not charged for taking weights over.
 */
import { join } from 'node:path';
import type { GenerateRequest } from '../../model/engine.ts';
import { EmbeddedEngine } from '../../model/rollout/embeddedEngine.ts';
import { EmbeddedTrainer } from '../../model/train/trainer.ts';
import { type AnyRow, type Bench, clock, rates } from '../model/bench.ts';
import { Yardstick } from '../model/python.ts';
import { LOSSES, prompt, request, trainSequences } from '../model/sequences.ts';
import { SHAPES } from '../model/shapes.ts';
import { inTurns } from '../model/turns.ts';
import { timeMs } from '../table.ts';

const [QUESTIONS, GROUP, PROMPT, MADE, LR] = [2, 8, 82, 64, 1e-6];
const ROWS = QUESTIONS * GROUP;
/** Rows that PyTorch takes at once: those of one question. */
const PART = GROUP;
const WHAT = `a step of ${QUESTIONS} x ${GROUP} rollouts of ${MADE} tokens after ${PROMPT}, GRPO`;
const AGAINST = 'transformers, PyTorch';

type Sequences = ReturnType<typeof trainSequences>;

export async function* stepRow(
  bench: Bench & { readonly path: string; readonly threads: readonly number[] },
): AsyncGenerator<AnyRow[]> {
  for (const threads of bench.threads) yield [await rowOf(bench, bench.path, threads)];
}

async function rowOf(bench: Bench, path: string, threads: number): Promise<AnyRow> {
  const what = `${WHAT}, ${threads} thr`;
  const generate = Yardstick.start('generate', ['torch', 'transformers']);
  if (!(generate instanceof Yardstick)) return { what, against: AGAINST, reason: generate.reason };
  const train = Yardstick.start('train', ['torch', 'transformers']);
  if (!(train instanceof Yardstick)) return { what, against: AGAINST, reason: train.reason };
  const prompts = Array.from({ length: QUESTIONS }, (_, i) =>
    prompt(SHAPES['135M'], `step ${i}`, PROMPT),
  );
  const sequences = trainSequences(SHAPES['135M'], ROWS, PROMPT + MADE - 1);
  const ours = await openOurs(bench, path, threads, { prompts, sequences });
  try {
    const sides = {
      ours: ours.step,
      theirs: await openTheirs({ generate, train }, path, threads, { prompts, sequences }),
    };
    const { medians, note } = await inTurns(bench.quick ? 1 : 3, sides, {
      pids: [generate.pid, train.pid],
    });
    const speed = (ms: number) => (1000 * ROWS * MADE) / ms;
    const pair = { ours: speed(medians.ours), theirs: speed(medians.theirs) };
    return rates(what, AGAINST, pair, { unit: 'tokens/s', goal: null, note });
  } finally {
    await ours.close();
    await generate.close();
    await train.close();
  }
}

interface Work {
  readonly prompts: readonly Int32Array[];
  readonly sequences: Sequences;
}

/** Milliseconds of rollouts, a step and the weights' way back. */
async function openOurs(bench: Bench, path: string, threads: number, { prompts, sequences }: Work) {
  const options = { threads, rowsMax: ROWS, contextMax: PROMPT + MADE + 1, clock };
  const engine = await EmbeddedEngine.create({ weights: path, ...options });
  const trainer = await EmbeddedTrainer.create({ policy: path, threads });
  const file = join(bench.folder, 'step.safetensors');
  const asked: readonly GenerateRequest[] = Array.from({ length: ROWS }, (_, i) =>
    request(prompts[Math.floor(i / GROUP)]!, MADE, i),
  );
  let version = 0;
  const step = () =>
    timeMs(async () => {
      await Promise.all(asked.map((each) => engine.generate(each)));
      await trainer.step({ sequences, loss: LOSSES.GRPO, lr: LR });
      const { sha256 } = await trainer.write(file);
      version++;
      await engine.load({ version, uri: file, digest: sha256 });
    });
  const close = async () => {
    await engine.close();
    await trainer.close();
  };
  return { step, close };
}

async function openTheirs(
  { generate, train }: { readonly generate: Yardstick; readonly train: Yardstick },
  path: string,
  threads: number,
  { prompts, sequences }: Work,
): Promise<() => Promise<number>> {
  await generate.ask('open', { path, threads });
  await train.ask('open', { path, threads, lr: LR, compile: false });
  await train.ask('batch', {
    name: 'step',
    tokens: sequences.map(({ tokens }) => [...tokens]),
    advantages: sequences.map(({ advantages }) => [...advantages]),
    old: sequences.map(({ oldLogProbs }) => [...oldLogProbs]),
  });
  const all = Array.from({ length: ROWS }, (_, i) => [...prompts[Math.floor(i / GROUP)]!]);
  const lengths = all.map(() => MADE);
  return async () => {
    const rolled = await generate.ask<{ ms: number }>('generate', {
      prompts: all,
      lengths,
      rows: ROWS,
    });
    const trained = await train.ask<{ ms: number }>('step', {
      batch: 'step',
      loss: LOSSES.GRPO.name,
      rows: PART,
    });
    return rolled.ms + trained.ms;
  };
}
