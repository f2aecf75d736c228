/**
 * The forward pass of the decode loop as an ONNX Runtime session.
 *
 * The weights are fixed when the session is made (packed once, and with packed weights a row's result does not
 * depend on how many rows are beside it); new weights mean a new session.
 */
import { type DecoderConfig, headDim, parameterShapes, type Tensors } from '../config.ts';
import { cachedForm } from '../decoder.ts';
import { Graph } from '../graph/graph.ts';
import { openSession, type Session } from '../runtime/session.ts';
import type { CacheShape, DecodeOutput, Forward, ForwardInput, NewRows } from './forward.ts';

/** Where a session looks for the weights. */
const LOCATION = 'weights';

export async function openOnnxForward(
  config: DecoderConfig,
  tensors: Tensors,
  threads: number,
): Promise<Forward> {
  const { data, offsets } = join(config, tensors);
  const graph = new Graph('float32');
  const form = cachedForm(graph, config, (name, shape) => {
    const bytes = 4 * shape.reduce((product, size) => product * size, 1);
    const source = { location: LOCATION, offset: offsets.get(name)!, bytes };
    return graph.initialiser(name, 'float32', shape, source);
  });
  graph.output('logits', form.logits);
  form.keys.forEach((value, layer) => graph.output(`newKeys.${layer}`, value));
  form.values.forEach((value, layer) => graph.output(`newValues.${layer}`, value));
  const session = await openSession(graph.model(), {
    threads,
    external: [{ location: LOCATION, data }],
  });
  return new OnnxForward(session, config);
}

/** All parameters in one block of bytes. */
function join(
  config: DecoderConfig,
  tensors: Tensors,
): { data: Uint8Array; offsets: Map<string, number> } {
  const offsets = new Map<string, number>();
  let size = 0;
  for (const [name, shape] of parameterShapes(config)) {
    offsets.set(name, 4 * size);
    size += shape.reduce((product, dim) => product * dim, 1);
  }
  const all = new Float32Array(size);
  for (const [name, offset] of offsets) {
    const tensor = tensors.get(name);
    if (!tensor)
      throw new Error(`the weights have no tensor '${name}': they are of another architecture`);
    all.set(tensor.data, offset / 4);
  }
  return { data: new Uint8Array(all.buffer), offsets };
}

class OnnxForward implements Forward {
  readonly shape: CacheShape;
  readonly vocabSize: number;
  readonly #session: Session;

  constructor(session: Session, config: DecoderConfig) {
    this.#session = session;
    this.shape = { layers: config.layers, kvHeads: config.kvHeads, headDim: headDim(config) };
    this.vocabSize = config.vocabSize;
  }

  async prefill(input: ForwardInput): Promise<NewRows> {
    return this.#run(input, Int32Array.of(0));
  }

  async decode(input: ForwardInput): Promise<DecodeOutput> {
    return this.#run(
      input,
      Int32Array.from({ length: input.rows }, (_, row) => row),
    );
  }

  async #run(input: ForwardInput, picked: Int32Array): Promise<DecodeOutput> {
    const { rows, width, capacity } = input;
    const { layers, kvHeads, headDim } = this.shape;
    const cacheShape = [rows, kvHeads, capacity, headDim];
    const feeds: Record<string, { shape: number[]; data: Float32Array | Int32Array }> = {
      tokens: { shape: [rows, width], data: input.tokens },
      positions: { shape: [rows, width], data: input.positions },
      rows: { shape: [picked.length], data: picked },
      cacheMask: { shape: [rows, 1, 1, capacity], data: mask(input) },
    };
    for (let layer = 0; layer < layers; layer++) {
      feeds[`keys.${layer}`] = { shape: cacheShape, data: input.keys[layer]! };
      feeds[`values.${layer}`] = { shape: cacheShape, data: input.values[layer]! };
    }
    const outputs = await this.#session.run(feeds);
    const output = (name: string) => outputs[name]!.data as Float32Array;
    const perLayer = (name: string) =>
      Array.from({ length: layers }, (_, layer) => output(`${name}.${layer}`));
    return { logits: output('logits'), keys: perLayer('newKeys'), values: perLayer('newValues') };
  }

  release(): Promise<void> {
    return this.#session.release();
  }
}

/** 0 at the positions before a row's first, -Infinity from there on: [rows, capacity]. */
function mask({ rows, width, capacity, positions }: ForwardInput): Float32Array {
  const values = new Float32Array(rows * capacity);
  for (let row = 0; row < rows; row++) {
    values.fill(
      Number.NEGATIVE_INFINITY,
      row * capacity + positions[row * width]!,
      (row + 1) * capacity,
    );
  }
  return values;
}
