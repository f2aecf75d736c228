/**
 * The shape of SmolLM2-135M: rollouts of 512 tokens, and steps of a low-rank adapter on them, within 24 GiB.
 *
 * Nothing is compared: it has to run, and its rates are printed. Rank 16 over all projections.
 */
import { EmbeddedEngine } from '../../model/rollout/embeddedEngine.ts';
import { timeMs } from '../table.ts';
import { type AnyRow, atMost, type Bench, clock, rates, weightsFolder } from './bench.ts';
import { trainOnce } from './child.ts';
import { Others } from './machine.ts';
import { prompt, request } from './sequences.ts';
import { SHAPES } from './shapes.ts';
import { adapterOf } from './trainRows.ts';
import { busyNote } from './turns.ts';

const [THREADS, PROMPT, GIB] = [2, 32, 24];

export async function adapterRows(bench: Bench): Promise<AnyRow[]> {
  const path = await weightsFolder(bench, '135M');
  const [rows, made] = bench.quick ? [4, 32] : [16, 512];
  const rollouts = await rolled(path, rows, made);
  const length = bench.quick ? 64 : PROMPT + made;
  const step = trainOnce({
    name: '135M',
    path,
    rows: 4,
    length,
    steps: 2,
    threads: THREADS,
    loss: 'GRPO',
    adapter: adapterOf(16)!,
  });
  const alone = (what: string, rate: number, note: string): AnyRow =>
    rates(what, '-', { ours: rate, theirs: rate }, { unit: 'tokens/s', goal: null, note });
  const memory = (what: string, bytes: number) =>
    atMost(
      `${what}: peak memory`,
      `${GIB} GiB`,
      { ours: bytes / 2 ** 30, theirs: GIB },
      { unit: 'GiB', goal: 1, note: '' },
    );
  const trained = `LoRA r=16 step 135M 4x${length}, GRPO`;
  const note = busyNote(step.othersCores);
  return [
    alone(`${rows} rollouts of ${made} tokens, 135M`, rollouts.tokensPerS, rollouts.note),
    memory(`${rows} rollouts of ${made} tokens, 135M`, rollouts.peakBytes),
    alone(trained, (1000 * 4 * length) / step.ms, note),
    memory(trained, step.peakBytes),
  ];
}

/** In this process, whose peak is then at least that of the rollouts. */
async function rolled(path: string, rows: number, made: number) {
  const contextMax = PROMPT + made;
  const options = { threads: THREADS, rowsMax: rows, contextMax, prefixSlots: rows, clock };
  const engine = await EmbeddedEngine.create({ weights: path, ...options });
  const tokens = prompt(SHAPES['135M'], 'adapter', PROMPT);
  const others = new Others([]);
  const ms = await timeMs(() =>
    Promise.all(
      Array.from({ length: rows }, (_, id) => engine.generate(request(tokens, made, id))),
    ),
  );
  const note = busyNote(others.cores());
  await engine.close();
  const peakBytes = process.resourceUsage().maxRSS * 1024;
  return { tokensPerS: (1000 * rows * made) / ms, peakBytes, note };
}
