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

interface Recipe extends Part {
  /** Names of parameters, or numbers that no policy changes. */
  readonly from: readonly string[] | Float32Array;
  /** Where they go; null for those in the file. */
  readonly into: (() => Float32Array) | null;
}

/** The graphs' name for the block. */
export const BLOCK = 'block';

export class WeightPlan {
  readonly #file: MappedFile | null;
  readonly #shapes: ReadonlyMap<string, readonly number[]>;
  readonly #recipes = new Map<string, Recipe>();
  #blockBytes = 0;
  #block = new Float32Array(0);

  constructor(config: DecoderConfig, file: MappedFile | null) {
    this.#shapes = parameterShapes(config);
    this.#file = file;
  }

  /** These parameters, joined along their first axis. */
  joined(names: readonly string[]): Part {
    return this.#part(names.join('+'), () => {
      const shapes = names.map((name) => this.#shape(name));
      const rows = shapes.reduce((sum, [first]) => sum + (first as number), 0);
      const shape = [rows, ...(shapes[0] as readonly number[]).slice(1)];
      const offset = this.#inFile(names);
      if (this.#file === null || offset === null) return this.#inMemory(shape, names);
      const data = { location: this.#file.name, offset, bytes: bytesOf(shape) };
      return { shape, data, from: names, into: null };
    });
  }

  /** Numbers that belong to the graph, not to a policy. */
  fixed(name: string, make: () => Tensor): Part {
    return this.#part(name, () => {
      const { shape, data } = make();
      return this.#inMemory(shape, data);
    });
  }

  has(name: string): boolean {
    return this.#shapes.has(name);
  }

  /** Fill what is in memory, once every graph has been built and before any is written; returns the block. */
  async fill(read: (name: string) => Promise<Tensor> | Tensor): Promise<Uint8Array> {
    this.#block = new Float32Array(this.#blockBytes / 4);
    for (const { from, into } of this.#recipes.values()) {
      if (into === null) continue;
      const target = into();
      if (from instanceof Float32Array) target.set(from);
      else {
        let at = 0;
        for (const name of from) {
          const { data } = await read(name);
          target.set(data, at);
          at += data.length;
        }
      }
    }
    return new Uint8Array(this.#block.buffer);
  }

  #inMemory(shape: readonly number[], from: Recipe['from']): Recipe {
    const bytes = bytesOf(shape);
    if (this.#file !== null) {
      const numbers = new Float32Array(bytes / 4);
      return { shape, from, data: new Uint8Array(numbers.buffer), into: () => numbers };
    }
    const offset = this.#blockBytes;
    this.#blockBytes += bytes;
    const into = () => this.#block.subarray(offset / 4, (offset + bytes) / 4);
    return { shape, from, data: { location: BLOCK, offset, bytes }, into };
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

  #shape(name: string): readonly number[] {
    const shape = this.#shapes.get(name);
    if (shape === undefined) throw new Error(`the network has no parameter '${name}'`);
    return shape;
  }

  #part(key: string, make: () => Recipe): Part {
    const part = this.#recipes.get(key) ?? make();
    this.#recipes.set(key, part);
    return part;
  }
}

function bytesOf(shape: readonly number[]): number {
  return 4 * shape.reduce((product, size) => product * size, 1);
}
