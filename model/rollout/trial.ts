/**
 * The trial of generation: a small network of the policy's kind reads a prompt and says how probable next
 * tokens are, by the graphs that the engine runs.
 */
import type { DecoderConfig, Tensor } from '../config.ts';
import { miniature, someTokens, spreadWeights } from '../miniature.ts';
import type { Device } from '../runtime/device.ts';
import type { Outcome, Trial } from '../runtime/tryOut.ts';
import type { NewRows } from './forward.ts';
import { KvCache } from './kvCache.ts';
import { openOnnxForward } from './onnxForward.ts';

const ROWS = 2;
const PROMPT = 24;
const CAPACITY = 32;

export function generationTrial(config: DecoderConfig): Trial {
  return { name: 'generation', run: (device) => generate(miniature(config, 256), device) };
}

async function generate(config: DecoderConfig, device: Device): Promise<Outcome> {
  const weights = spreadWeights(config);
  const read = (name: string) => weights.get(name) as Tensor;
  const sizes = { threads: 1, positionsMax: CAPACITY, device };
  const forward = await openOnnxForward({ config, file: null, read }, sizes);
  try {
    const cache = new KvCache(forward.shape, ROWS, CAPACITY);
    const contexts = someTokens(config, Array(ROWS).fill(PROMPT + 1));
    const input = (start: number, width: number) => ({
      rows: ROWS,
      width,
      capacity: CAPACITY,
      ...cache.view(0, ROWS),
      tokens: Int32Array.from(contexts.flatMap((all) => [...all.subarray(start, start + width)])),
      positions: Int32Array.from({ length: ROWS * width }, (_, place) => start + (place % width)),
    });
    const read = await forward.prefill(input(0, PROMPT));
    for (let row = 0; row < ROWS; row++) cache.write(row, 0, PROMPT, read, row, PROMPT);
    const { shares, peaks, ...made } = await forward.decode(input(PROMPT, 1));
    return new Map([
      ...byLayer('prompt', read),
      ...byLayer('token', made),
      ['probabilities', shares],
      ['highest logits', peaks],
    ]);
  } finally {
    await forward.release();
  }
}

function byLayer(of: string, { keys, values }: NewRows): [string, Float32Array][] {
  return keys.flatMap((array, layer): [string, Float32Array][] => [
    [`keys of the ${of} in layer ${layer}`, array],
    [`values of the ${of} in layer ${layer}`, values[layer] as Float32Array],
  ]);
}
