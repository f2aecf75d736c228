/**
 * The decode loop against what products and memory allow, and the prefill of a group against as many
 * prefills.
 *
 * Both run the loop of the engine (`Batcher`) in this thread: cache and sampling are included, messages are
 * not.
 */

import { loadPolicy } from '../../model/hf/loadPolicy.ts';
import { Batcher } from '../../model/rollout/batcher.ts';
import { openOnnxForward } from '../../model/rollout/onnxForward.ts';
import { timeMs } from '../table.ts';
import { type AnyRow, atMost, type Bench, rates, weightsFolder } from './bench.ts';
import { Peak } from './machine.ts';
import { prompt, request } from './sequences.ts';
import { cacheBytes, forwardFlops, SHAPES, type ShapeName } from './shapes.ts';
import { inTurns } from './turns.ts';

const THREADS = 2;
const ROWS = 64;
const CONTEXT = 511;
/** Steps of a turn, up to the last one at `CONTEXT`. */
const STEPS = 16;
const GROUP = 16;
const PROMPT = 448;

async function openBatcher(bench: Bench, name: ShapeName, rowsMax: number, prefixSlots: number) {
  const { config, tensors } = await loadPolicy(await weightsFolder(bench, name));
  const contextMax = 512;
  const positionsMax = contextMax + 128;
  const weights = { config, file: null, read: (tensor: string) => tensors.get(tensor)! };
  const forward = await openOnnxForward(weights, { threads: THREADS, positionsMax });
  const batcher = new Batcher(forward, 0, { rowsMax, contextMax, prefixSlots });
  return { batcher, close: () => forward.release() };
}

export async function decodeRows(bench: Bench): Promise<AnyRow[]> {
  const peak = await Peak.open(THREADS);
  const rows: AnyRow[] = [];
  for (const name of ['4M', '48M'] as const) rows.push(await decodeRow(bench, name, peak));
  await peak.close();
  return rows;
}

async function decodeRow(bench: Bench, name: ShapeName, peak: Peak): Promise<AnyRow> {
  const { batcher, close } = await openBatcher(bench, name, ROWS, 0);
  const config = SHAPES[name];
  const start = CONTEXT - STEPS + 1;
  // a step at context c reads c places of the cache and itself, and draws token c + 1
  const decode = async () => {
    for (let id = 0; id < ROWS; id++)
      batcher.submit(id, request(prompt(config, `decode ${id}`, start), STEPS, id));
    await batcher.admit();
    const ms = await timeMs(async () => {
      for (let step = 0; step < STEPS; step++) await batcher.step();
    });
    return ms / STEPS;
  };
  const sides = { step: decode, gemm: () => peak.gemm(), read: () => peak.read() };
  const { medians, note } = await inTurns(bench.turns, sides);
  await close();
  const place = CONTEXT - STEPS / 2;
  const flopMs = (1000 * ROWS * forwardFlops(config, place)) / medians.gemm;
  const readMs = (1000 * ROWS * cacheBytes(config, place)) / medians.read;
  const speed = (ms: number) => (1000 * ROWS) / ms;
  const parts = `bound ${flopMs.toFixed(1)} + ${readMs.toFixed(1)} ms at ${(medians.gemm / 1e9).toFixed(0)} GFLOP/s, ${(medians.read / 1e9).toFixed(0)} GB/s`;
  return rates(
    `decode ${name}, batch ${ROWS}, context ${CONTEXT}, ${THREADS} thr`,
    'FLOP + bandwidth bound',
    { ours: speed(medians.step), theirs: speed(flopMs + readMs) },
    {
      unit: 'tokens/s',
      goal: name === '4M' ? 0.9 : null,
      note: [parts, note].filter((part) => part !== '').join(', '),
    },
  );
}

export async function prefillRows(bench: Bench): Promise<AnyRow[]> {
  const { batcher, close } = await openBatcher(bench, '4M', GROUP, 1);
  const config = SHAPES['4M'];
  let prompts = 0;
  let ids = 0;
  /** Milliseconds until a group is ready to decode, with one prompt or one each; none was seen before. */
  const admitted = async (shared: boolean) => {
    const first = prompts;
    prompts += GROUP;
    for (let i = 0; i < GROUP; i++) {
      const tokens = prompt(config, `prefill ${shared ? first : first + i}`, PROMPT);
      batcher.submit(ids++, request(tokens, 1, i));
    }
    const ms = await timeMs(() => batcher.admit());
    await batcher.step();
    return ms;
  };
  const { medians, note } = await inTurns(bench.turns, {
    group: () => admitted(true),
    apart: () => admitted(false),
  });
  await close();
  return [
    atMost(
      `prefill 4M, group of ${GROUP}, prompt of ${PROMPT}, ${THREADS} thr`,
      `${GROUP} prompts, batched`,
      { ours: medians.group, theirs: medians.apart },
      { unit: 'ms', goal: 1 / 12, note },
    ),
  ];
}
