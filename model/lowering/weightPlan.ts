/**
 * Where the bytes of a graph's fixed tensors are: in the policy's own file, or in memory that is filled from
 * it.
 *
 * A lowering asks for a tensor by the parameters that it is made of: one, or several of equal width joined
 * along their first axis (q, k and v as one matrix). The same request gets the same bytes, so graphs can
 * share a plan.
 *
 * With a file of float32 tensors, those that are contiguous in it are used in place: the runtime maps the
 * file, and nothing is read or copied here; the few others go into the graph. Without one, everything goes
 * into a block, which is given to the session. (The runtime takes tensors outside the graph from files or
 * from memory, not from both.)
 */
import { type DecoderConfig, parameterShapes, type Tensor } from '../config.ts';
import type { Initialiser } from '../graph/onnx.ts';
import { BLOCK_SIZE, blocksOf, intoEightBits } from './eightBits.ts';

/** A file of float32 tensors: its folder and name, and the first byte of each. */
export interface MappedFile {
  readonly folder: string;
  readonly name: string;
  readonly offsets: ReadonlyMap<string, number>;
}

export interface Part {
  readonly shape: readonly number[];
  readonly data: Initialiser['data'];
}

/** A matrix [out, in] in 8 bits (eightBits.ts). */
export interface EightBitParts {
  /** uint8 [out, blocks, BLOCK_SIZE]. */
  readonly numbers: Part;
  /** float32 [out, blocks]. */
  readonly scales: Part;
}

type Read = (name: string) => Promise<Tensor> | Tensor;

interface Recipe extends Part {
  /** Puts the bytes in memory; null if something else does. */
  readonly fill: ((read: Read) => Promise<void>) | null;
}

/** A place in memory. */
interface Space {
  readonly data: Part['data'];
  /** Not before `fill`. */
  bytes(): Uint8Array;
}

/** The graphs' name for the block. */
export const BLOCK = 'block';

export class WeightPlan {
  readonly #file: MappedFile | null;
  readonly #shapes: ReadonlyMap<string, readonly number[]>;
  readonly #recipes = new Map<string, Recipe>();
  #blockBytes = 0;
  #block = new Uint8Array(0);

  constructor(config: DecoderConfig, file: MappedFile | null) {
    this.#shapes = parameterShapes(config);
    this.#file = file;
  }

  /** These parameters, joined along their first axis. */
  joined(names: readonly string[]): Part {
    return this.#part(names.join('+'), () => {
      const shape = this.#joinedShape(names);
      const offset = this.#inFile(names);
      if (this.#file !== null && offset !== null) {
        const data = { location: this.#file.name, offset, bytes: bytesOf(shape) };
        return { shape, data, fill: null };
      }
      const { data, bytes } = this.#space(bytesOf(shape));
      return { shape, data, fill: (read) => join(names, read, floats(bytes())) };
    });
  }

  /** These matrices, joined along their first axis, in 8 bits. */
  eightBits(names: readonly string[]): EightBitParts {
    const [out, width] = this.#joinedShape(names) as [number, number];
    const key = `${names.join('+')} in 8 bits`;
    const blocks = blocksOf(width);
    const scales = this.#part(`${key}: scales`, () => {
      const shape = [out, blocks];
      return { shape, ...this.#space(bytesOf(shape)), fill: null };
    });
    const numbers = this.#part(key, () => {
      const shape = [out, blocks, BLOCK_SIZE];
      const space = this.#space(out * blocks * BLOCK_SIZE);
      return {
        ...{ shape, data: space.data },
        fill: async (read) => {
          const rows = new Float32Array(out * width);
          await join(names, read, rows);
          intoEightBits(rows, width, space.bytes(), floats(scales.bytes()));
        },
      };
    });
    return { numbers, scales };
  }

  /** Numbers that belong to the graph, not to a policy. */
  fixed(name: string, make: () => Tensor): Part {
    return this.#part(name, () => {
      const { shape, data } = make();
      const space = this.#space(bytesOf(shape));
      return { shape, data: space.data, fill: async () => floats(space.bytes()).set(data) };
    });
  }

  has(name: string): boolean {
    return this.#shapes.has(name);
  }

  /** Fill what is in memory, once every graph has been built and before any is written; returns the block. */
  async fill(read: Read): Promise<Uint8Array> {
    this.#block = new Uint8Array(this.#blockBytes);
    for (const { fill } of this.#recipes.values()) await fill?.(read);
    return this.#block;
  }

  #space(length: number): Space {
    if (this.#file !== null) {
      const own = new Uint8Array(length);
      return { data: own, bytes: () => own };
    }
    const offset = this.#blockBytes;
    this.#blockBytes += length;
    const data = { location: BLOCK, offset, bytes: length };
    return { data, bytes: () => this.#block.subarray(offset, offset + length) };
  }

  /** Where these parameters are contiguous in the file; null if they are not. */
  #inFile(names: readonly string[]): number | null {
    const start = this.#file?.offsets.get(names[0] as string);
    if (start === undefined) return null;
    let at = start;
    for (const name of names) {
      if (this.#file?.offsets.get(name) !== at) return null;
      at += bytesOf(this.#shape(name));
    }
    return start;
  }

  #joinedShape(names: readonly string[]): readonly number[] {
    const shapes = names.map((name) => this.#shape(name));
    const rows = shapes.reduce((sum, [first]) => sum + (first as number), 0);
    return [rows, ...(shapes[0] as readonly number[]).slice(1)];
  }

  #shape(name: string): readonly number[] {
    const shape = this.#shapes.get(name);
    if (shape === undefined) throw new Error(`the network has no parameter '${name}'`);
    return shape;
  }

  #part<Made extends Recipe>(key: string, make: () => Made): Made {
    const part = (this.#recipes.get(key) as Made | undefined) ?? make();
    this.#recipes.set(key, part);
    return part;
  }
}

/** Parameters one after another. */
async function join(names: readonly string[], read: Read, into: Float32Array): Promise<void> {
  let at = 0;
  for (const name of names) {
    const { data } = await read(name);
    into.set(data, at);
    at += data.length;
  }
}

function floats({ buffer, byteOffset, byteLength }: Uint8Array): Float32Array {
  return new Float32Array(buffer, byteOffset, byteLength / 4);
}

function bytesOf(shape: readonly number[]): number {
  return 4 * shape.reduce((product, size) => product * size, 1);
}
