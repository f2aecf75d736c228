/**
 * The forward pass of the decode loop as an ONNX Runtime session.
 *
 * The weights are fixed when a session is made (packed once, and with packed weights a row's result does not
 * depend on how many rows are with it); new weights mean a new session.
 */
import { type DecoderConfig, headDim, type Tensor } from '../config.ts';
import { cachedGraph, type WeightBits } from '../lowering/cached.ts';
import { BLOCK, type MappedFile, WeightPlan } from '../lowering/weightPlan.ts';
import { cpuDevice, type Device } from '../runtime/device.ts';
import type { Feed, Session } from '../runtime/session.ts';
import type { CacheShape, DecodeOutput, Forward, ForwardInput, NewRows } from './forward.ts';

export interface OnnxForwardOptions {
  readonly threads: number;
  /** Positions that can be computed; padding reaches beyond a context, so it counts. */
  readonly positionsMax: number;
  /** The CPU by default. */
  readonly device?: Device;
  /** float32 by default. */
  readonly bits?: WeightBits;
}

/** The weights of a version: those in a file that can be mapped, and a way to read all of it. */
export interface ForwardWeights {
  readonly config: DecoderConfig;
  readonly file: MappedFile | null;
  read(name: string): Promise<Tensor> | Tensor;
}

export async function openOnnxForward(
  { config, file, read }: ForwardWeights,
  { threads, positionsMax, device = cpuDevice, bits = 'float32' }: OnnxForwardOptions,
): Promise<Forward> {
  const mapped = bits === 'float32' ? file : null;
  const plan = new WeightPlan(config, mapped);
  const graph = cachedGraph(config, plan, { positionsMax, bits });
  const block = await plan.fill(read);
  const outside =
    mapped === null ? { external: [{ location: BLOCK, data: block }] } : { folder: mapped.folder };
  const session = await device.open(graph.model(), { threads, ...outside });
  return new OnnxForward(config, threads, session);
}

class OnnxForward implements Forward {
  readonly shape: CacheShape;
  readonly vocabSize: number;
  /** One matrix product per thread: a product that several threads share may be summed in other parts. */
  readonly rowsMin: number;
  readonly #session: Session;
  /** Fed as places if they are not read. */
  readonly #nowhere: Feed;
  /** 0, 1, ..., up to the largest capacity so far. */
  #slots = new Int32Array(0);

  constructor(config: DecoderConfig, threads: number, session: Session) {
    this.shape = { layers: config.layers, kvHeads: config.kvHeads, headDim: headDim(config) };
    this.vocabSize = config.vocabSize;
    this.rowsMin = Math.ceil(threads / config.kvHeads);
    this.#session = session;
    const { kvHeads } = config;
    this.#nowhere = { shape: [1, kvHeads, 1, 3], data: new Int32Array(3 * kvHeads) };
  }

  async prefill(input: ForwardInput): Promise<NewRows> {
    const shape = [input.rows, this.shape.kvHeads, input.width, 3];
    const places = { shape, data: placesOf(input, this.shape.kvHeads) };
    return this.#newRows(await this.#session.run({ ...this.#feeds(input), places }));
  }

  async decode(input: ForwardInput): Promise<DecodeOutput> {
    const outputs = await this.#session.run({ ...this.#feeds(input), places: this.#nowhere });
    const [shares, peaks] = [outputs.shares!.data, outputs.peaks!.data] as Float32Array[];
    return { shares: shares!, peaks: peaks!, ...this.#newRows(outputs) };
  }

  #feeds({
    rows,
    width,
    capacity,
    tokens,
    positions,
    keys,
    values,
  }: ForwardInput): Record<string, Feed> {
    const { layers, kvHeads, headDim } = this.shape;
    if (this.#slots.length < capacity)
      this.#slots = Int32Array.from({ length: capacity }, (_, i) => i);
    const feeds: Record<string, Feed> = {
      tokens: { shape: [rows, width], data: tokens },
      positions: { shape: [rows, width], data: positions },
      slots: { shape: [capacity], data: this.#slots.subarray(0, capacity) },
    };
    const shape = [rows, kvHeads, capacity, headDim];
    for (let layer = 0; layer < layers; layer++) {
      feeds[`keys.${layer}`] = { shape, data: keys[layer]! };
      feeds[`values.${layer}`] = { shape, data: values[layer]! };
    }
    return feeds;
  }

  #newRows(outputs: Readonly<Record<string, Feed>>): NewRows {
    const perLayer = (name: string) =>
      Array.from(
        { length: this.shape.layers },
        (_, i) => outputs[`${name}.${i}`]!.data as Float32Array,
      );
    return { keys: perLayer('newKeys'), values: perLayer('newValues') };
  }

  async release(): Promise<void> {
    await this.#session.release();
  }
}

/** (row, head, position) of every new position: [rows, kvHeads, width, 3]. Padding shares the last place. */
function placesOf({ rows, width, capacity, positions }: ForwardInput, kvHeads: number): Int32Array {
  const places = new Int32Array(rows * kvHeads * width * 3);
  let at = 0;
  for (let row = 0; row < rows; row++) {
    for (let head = 0; head < kvHeads; head++) {
      for (let t = 0; t < width; t++) {
        places[at++] = row;
        places[at++] = head;
        places[at++] = Math.min(positions[row * width + t]!, capacity - 1);
      }
    }
  }
  return places;
}
