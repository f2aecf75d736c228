/**
 * Train steps against PyTorch eager and compiled with the same weights, batches, optimiser and threads, and
 * against the runtime's largest products.
 *
 * Before anything is timed, two steps of both have to give the same losses (the second after both have
 * moved).
 */
import { LORA_TARGETS } from '../../model/hf/lora.ts';
import { EmbeddedTrainer } from '../../model/train/trainer.ts';
import { type AnyRow, type Bench, mustAgree, rates, weightsFolder } from './bench.ts';
import { Peak } from './machine.ts';
import { Yardstick } from './python.ts';
import { LOSSES, type LossName, trainSequences } from './sequences.ts';
import { SHAPES, type ShapeName, trainFlops } from './shapes.ts';
import { inTurns } from './turns.ts';

const LENGTH = 128;
const LR = 1e-4;
/** Tokens of one run of theirs, as ours; the whole batch is tried too, and the faster one is taken. */
const PART_TOKENS = 2048;
const SIZES = [
  { name: '4M', rows: 64 },
  { name: '48M', rows: 8 },
] as const;
const NAMES: readonly LossName[] = ['SFT', 'GRPO'];

/** What is trained, and how. */
export interface Setting {
  readonly name: ShapeName;
  readonly rows: number;
  readonly threads: number;
  readonly path: string;
  /** Of a low-rank adapter over all projections; without it all weights are trained. */
  readonly rank?: number;
  readonly losses?: readonly LossName[];
  /** To reach against PyTorch, 1 by default. */
  readonly goal?: number;
}

/** The adapter of this rank that a trainer starts with, null where all weights are trained. */
export function adapterOf(rank: number | undefined) {
  return rank === undefined ? null : { rank, alpha: 2 * rank, targets: LORA_TARGETS, seed: 1 };
}

/** One step: its loss, and how long it took. */
type Step = (loss: LossName) => Promise<{ readonly loss: number; readonly ms: number }>;

export async function* trainRows(bench: Bench): AsyncGenerator<AnyRow[]> {
  const torch = Yardstick.start('train', ['torch', 'transformers']);
  try {
    for (const size of SIZES) {
      const path = await weightsFolder(bench, size.name);
      for (const threads of bench.quick ? [2] : [1, 2])
        yield* settingRows(bench, { ...size, threads, path }, torch);
    }
  } finally {
    if (torch instanceof Yardstick) await torch.close();
  }
}

/** Rows of one setting against PyTorch, or with the reason why it is not there. */
export async function* settingRows(
  bench: Bench,
  setting: Setting,
  torch: Yardstick | { readonly reason: string },
): AsyncGenerator<AnyRow[]> {
  const { name, rows, threads, path, rank, losses = NAMES } = setting;
  const adapter = adapterOf(rank);
  const trained = adapter && { adapter: { adapter, publish: 'merged' as const } };
  const policy = EmbeddedTrainer.create({ policy: path, threads, ...trained });
  const [trainer, peak] = await Promise.all([policy, Peak.open(threads)]);
  const sequences = trainSequences(SHAPES[name], rows, LENGTH);
  const ours: Step = (loss) => trainer.step({ sequences, loss: LOSSES[loss], lr: LR });
  try {
    if (torch instanceof Yardstick) await hold(torch, setting);
    for (const loss of losses) {
      if (torch instanceof Yardstick) await agree(torch, setting, ours, loss);
      yield await lossRows(bench, { setting, loss, ours, peak, torch });
    }
  } finally {
    await trainer.close();
    await peak.close();
  }
}

interface Measure {
  readonly setting: Setting;
  readonly loss: LossName;
  readonly ours: Step;
  readonly peak: Peak;
  readonly torch: Yardstick | { readonly reason: string };
}

async function lossRows(
  bench: Bench,
  { setting, loss, ours, peak, torch }: Measure,
): Promise<AnyRow[]> {
  const { name, rows, threads, rank, goal = 1 } = setting;
  const tokens = rows * LENGTH;
  const trained = rank === undefined ? 'train step' : `LoRA r=${rank} step`;
  const what = `${trained} ${name} ${rows}x${LENGTH}, ${loss}, ${threads} thr`;
  const speed = async (step: Step) => (1000 * tokens) / (await step(loss)).ms;
  const flops = (rate: number) => (rate * trainFlops(SHAPES[name], LENGTH)) / 1e9;
  const sides = { ours: () => speed(ours), gemm: () => peak.gemm() };
  const gemmRow = (rate: number, gemm: number, note: string) =>
    rates(
      what,
      'GEMM peak of the runtime',
      { ours: flops(rate), theirs: gemm / 1e9 },
      { unit: 'GFLOP/s', goal: 0.75, note },
    );
  if (!(torch instanceof Yardstick)) {
    const { medians, note } = await inTurns(bench.turns, sides);
    const { reason } = torch;
    return [{ what, against: 'PyTorch eager', reason }, gemmRow(medians.ours, medians.gemm, note)];
  }
  const { pid } = torch;
  const eager = await fastest(torch, setting, loss);
  const { medians, note } = await inTurns(
    bench.turns,
    { ...sides, eager: () => speed(eager) },
    { pids: [pid] },
  );
  const against = (theirs: number, goal: number | null) =>
    [
      { ours: medians.ours, theirs },
      { unit: 'tokens/s', goal, note },
    ] as const;
  const found: AnyRow[] = [
    rates(
      what,
      `PyTorch eager${rank === undefined ? '' : ', PEFT'}`,
      ...against(medians.eager, goal),
    ),
    gemmRow(medians.ours, medians.gemm, note),
  ];
  if (bench.quick) return found;
  return [...found, await compiledRow(bench, { setting, loss, ours, peak, torch }, what)];
}

/** The same step of a compiled network. The network is opened for it, and is eager again afterwards. */
async function compiledRow(bench: Bench, measure: Measure, what: string): Promise<AnyRow> {
  const { setting, loss, ours } = measure;
  const torch = measure.torch as Yardstick;
  const tokens = setting.rows * LENGTH;
  const speed = async (step: Step) => (1000 * tokens) / (await step(loss)).ms;
  const against = 'torch.compile';
  try {
    await hold(torch, setting, true);
    const compiled = theirs(torch, setting.rows);
    const sides = { ours: () => speed(ours), compiled: () => speed(compiled) };
    const { medians, note } = await inTurns(bench.turns, sides, { pids: [torch.pid] });
    const pair = { ours: medians.ours, theirs: medians.compiled };
    return rates(what, against, pair, { unit: 'tokens/s', goal: null, note });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return { what, against, reason: text.trim().split('\n').at(-1)! };
  } finally {
    await hold(torch, setting);
  }
}

/** Give theirs the weights as they are in the folder, a new optimiser, and the batch. */
async function hold(torch: Yardstick, setting: Setting, compile = false): Promise<void> {
  const { name, rows, threads, path, rank = null } = setting;
  await torch.ask('open', { path, threads, lr: LR, compile, rank });
  const sequences = trainSequences(SHAPES[name], rows, LENGTH);
  const lists = (of: (index: number) => ArrayLike<number>) =>
    sequences.map((_, index) => Array.from(of(index)));
  await torch.ask('batch', {
    name: 'bench',
    tokens: lists((i) => sequences[i]!.tokens),
    advantages: lists((i) => sequences[i]!.advantages),
    old: lists((i) => sequences[i]!.oldLogProbs),
  });
}

/** Their step, `part` rows in one run. */
function theirs(torch: Yardstick, part: number): Step {
  return (loss) => {
    return torch.ask('step', { batch: 'bench', loss: LOSSES[loss].name, rows: part });
  };
}

async function fastest(torch: Yardstick, { rows }: Setting, loss: LossName): Promise<Step> {
  const parts = [...new Set([rows, Math.min(rows, PART_TOKENS / LENGTH)])];
  const timed: { readonly step: Step; readonly ms: number }[] = [];
  for (const part of parts) {
    const step = theirs(torch, part);
    await step(loss);
    timed.push({ step, ms: Math.min((await step(loss)).ms, (await step(loss)).ms) });
  }
  return timed.reduce((best, each) => (each.ms < best.ms ? each : best)).step;
}

/** Two steps of both from the same weights; one of an adapter, whose first weights each draws for itself. */
async function agree(torch: Yardstick, setting: Setting, ours: Step, loss: LossName) {
  if (loss !== NAMES[0]) return;
  const step = theirs(torch, setting.rows);
  for (const each of setting.rank === undefined ? NAMES : [loss]) {
    const [mine, other] = [await ours(each), await step(each)];
    mustAgree(`${each} of ${setting.name}`, mine.loss, other.loss);
  }
}
