/**
 * The graph builder: nodes are added in order, every value knows its element type and symbolic shape.
 *
 * A node added by `derive` has its vector-Jacobian product, so that `gradients` can go back through it; a
 * node added by `node` alone is a constant to differentiation. Shapes hold numbers and names; a name must be
 * a dimension of some input, which is where `reshape` and friends read it when the graph runs.
 */
import {
  type Attribute,
  type Dim,
  type ElementType,
  type Initialiser,
  type OnnxBranch,
  type OnnxNode,
  onnxModel,
  type Shape,
  type TensorType,
} from './onnx.ts';

/** A tensor in a graph. */
export interface Value extends TensorType {
  readonly graph: Graph;
}

/** The gradient of the loss for each input of a node, given that for its output; null = none. */
export type Pullback = (gradient: Value) => readonly (Value | null)[];

export interface Derivation {
  readonly output: Value;
  readonly inputs: readonly Value[];
  readonly pullback: Pullback;
}

/** An input that may be left out is passed as null. */
export interface NodeOptions {
  readonly type?: ElementType;
  readonly domain?: string;
  /** Its name in a session's options. */
  readonly name?: string;
  readonly attributes?: Readonly<Record<string, Attribute>>;
}

export type Float = 'float32' | 'float64';

/** Nodes that run or not (`Graph.branch`). */
export type Branch = OnnxBranch;

const IDENTITY = { op: 'Identity', domain: '', attributes: {} } as const;

/**
 * A computation under construction. Make nodes with the functions of `ops.ts`, or with `node` and `derive`
 * if the gradient is your own; `model()` gives the ONNX file's bytes.
 */
export class Graph {
  /** Element type of the real numbers in this graph. */
  readonly float: Float;
  /** Its products must be the same on any number of threads up to this; null = they need not be. */
  readonly threads: number | null;
  #derivations: Derivation[] = [];
  readonly #inputs: Value[] = [];
  readonly #outputs: TensorType[] = [];
  readonly #initialisers: Initialiser[] = [];
  #nodes: OnnxNode[] = [];
  /** The nodes around the open branch; null while none is open. */
  #around: OnnxNode[] | null = null;
  /** Values that depend on the inputs' sizes or on numbers only, by what they are: made once. */
  readonly #shared = new Map<string, Value>();
  #count = 0;

  constructor(float: Float = 'float32', threads: number | null = null) {
    this.float = float;
    this.threads = threads;
  }

  /** How gradients pass, in the order in which values were derived. */
  get derivations(): readonly Derivation[] {
    return this.#derivations;
  }

  /**
   * Runs `make` with its derivations kept apart: to the rest of the graph the result is a constant until
   * derived.
   */
  aside(make: () => Value): { readonly value: Value; readonly derivations: readonly Derivation[] } {
    const before = this.#derivations;
    const derivations: Derivation[] = [];
    this.#derivations = derivations;
    try {
      return { value: make(), derivations };
    } finally {
      this.#derivations = before;
    }
  }

  /** A tensor fed at every run. Its named dimensions may be used in later shapes. */
  input(name: string, type: ElementType, shape: Shape): Value {
    const value = { graph: this, name, type, shape };
    this.#inputs.push(value);
    return value;
  }

  /** A tensor fixed when the session is made; its data in the file or in external data. */
  initialiser(name: string, type: ElementType, shape: Shape, data: Initialiser['data']): Value {
    this.#initialisers.push({ name, type, shape, data });
    return { graph: this, name, type, shape };
  }

  /** A fixed vector of whole numbers (a list of axes, for example). */
  integers(values: readonly number[]): Value {
    return this.share(`int64:${values.join(',')}`, (name) => {
      const data = new BigInt64Array(values.map(BigInt));
      return this.initialiser(name, 'int64', [values.length], new Uint8Array(data.buffer));
    });
  }

  /** A fixed real number (rank 0). */
  scalar(value: number): Value {
    return this.reals([value], []);
  }

  /** Fixed real numbers. */
  reals(values: readonly number[], shape: Shape = [values.length]): Value {
    return this.share(`real:${shape.join(',')}:${values.join(',')}`, (name) => {
      const data = this.float === 'float32' ? new Float32Array(values) : new Float64Array(values);
      return this.initialiser(name, this.float, shape, new Uint8Array(data.buffer));
    });
  }

  /** A shape as a run-time vector; names are read off the inputs. */
  sizes(shape: Shape): Value {
    if (shape.every((dim) => typeof dim === 'number')) return this.integers(shape as number[]);
    return this.share(`sizes:${shape.join(',')}`, () =>
      this.node(
        'Concat',
        shape.map((dim) => (typeof dim === 'number' ? this.integers([dim]) : this.size(dim))),
        [shape.length],
        { type: 'int64', attributes: { axis: 0 } },
      ),
    );
  }

  /** Whether some input has this named dimension. */
  knows(dim: string): boolean {
    return this.#inputs.some((input) => input.shape.includes(dim));
  }

  /** The size of a named dimension, as a vector of one. */
  size(dim: string): Value {
    const source = this.#inputs.find((input) => input.shape.includes(dim));
    if (source === undefined)
      throw new Error(`no input has a dimension '${dim}': name one that has`);
    const start = source.shape.indexOf(dim);
    return this.share(`size:${dim}`, () =>
      this.node('Shape', [source], [1], { type: 'int64', attributes: { start, end: start + 1 } }),
    );
  }

  /**
   * The result of `make`, built once per `key`. It must not depend on anything that `key` does not name. It
   * is computed at every run, whichever branch needed it first.
   */
  share(key: string, make: (name: string) => Value): Value {
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const [nodes, around] = [this.#nodes, this.#around];
    this.#nodes = around ?? nodes;
    this.#around = null;
    const value = make(this.#fresh());
    this.#nodes = nodes;
    this.#around = around;
    this.#shared.set(key, value);
    return value;
  }

  /**
   * Open a branch: nodes belong to it until the returned function closes it with what it yields. What is
   * computed in it cannot be read outside. Branches do not nest.
   */
  branch(): (yields: readonly Value[]) => Branch {
    if (this.#around !== null) throw new Error('a branch is open: close it first');
    const nodes: OnnxNode[] = [];
    const around = this.#nodes;
    this.#around = around;
    this.#nodes = nodes;
    return (yields) => {
      const outputs = yields.map(({ name, type, shape }) => {
        const own = { name: this.#fresh(), type, shape };
        nodes.push({ ...IDENTITY, inputs: [name], outputs: [own.name] });
        return own;
      });
      this.#nodes = around;
      this.#around = null;
      return { nodes, outputs };
    };
  }

  /** The result of one branch if `condition` (one bool) holds, otherwise of the other. */
  either(condition: Value, then: Branch, otherwise: Branch): readonly Value[] {
    const outputs = then.outputs.map((output) => ({ ...output, graph: this, name: this.#fresh() }));
    this.#nodes.push({
      op: 'If',
      domain: '',
      inputs: [condition.name],
      outputs: outputs.map(({ name }) => name),
      attributes: { then_branch: { branch: then }, else_branch: { branch: otherwise } },
    });
    return outputs;
  }

  /** Add a node with one output. Its element type is that of its first input by default. */
  node(op: string, inputs: readonly (Value | null)[], shape: Shape, options?: NodeOptions): Value {
    return this.nodes(op, inputs, [shape], options)[0] as Value;
  }

  /** Add a node with several outputs of one element type. */
  nodes(
    op: string,
    inputs: readonly (Value | null)[],
    shapes: readonly Shape[],
    options: NodeOptions = {},
  ): readonly Value[] {
    const type = options.type ?? inputs[0]?.type ?? this.float;
    const outputs = shapes.map((shape) => ({ graph: this, name: this.#fresh(), type, shape }));
    this.#nodes.push({
      op,
      ...(options.name === undefined ? {} : { name: options.name }),
      domain: options.domain ?? '',
      inputs: inputs.map((input) => input?.name ?? ''),
      outputs: outputs.map((output) => output.name),
      attributes: options.attributes ?? {},
    });
    return outputs;
  }

  /** Declares how gradients pass through `output`, which was computed from `inputs`. Returns `output`. */
  derive(output: Value, inputs: readonly Value[], pullback: Pullback): Value {
    this.#derivations.push({ output, inputs, pullback });
    return output;
  }

  /** Return `value` from every run under `name`. */
  output(name: string, value: Value): void {
    this.#nodes.push({ ...IDENTITY, inputs: [value.name], outputs: [name] });
    this.#outputs.push({ name, type: value.type, shape: value.shape });
  }

  /** Whether the numbers of `value` depend on those of `source`. Taking a shape from it does not count. */
  reads(value: Value, source: Value): boolean {
    const needed = new Set([value.name]);
    for (const node of [...this.#nodes].reverse())
      if (node.op !== 'Shape' && node.outputs.some((name) => needed.has(name)))
        for (const name of readBy(node)) needed.add(name);
    return needed.has(source.name);
  }

  /** The bytes of the ONNX model: what its outputs need. Inputs stay, needed or not. */
  model(): Uint8Array {
    const needed = new Set(this.#outputs.map(({ name }) => name));
    const nodes: OnnxNode[] = [];
    for (const node of [...this.#nodes].reverse()) {
      if (!node.outputs.some((name) => needed.has(name))) continue;
      for (const name of readBy(node)) needed.add(name);
      nodes.push(node);
    }
    return onnxModel({
      inputs: this.#inputs,
      outputs: this.#outputs,
      initialisers: this.#initialisers.filter(({ name }) => needed.has(name)),
      nodes: nodes.reverse(),
    });
  }

  #fresh(): string {
    this.#count++;
    return `_${this.#count}`;
  }
}

/** Names that a node reads, including those read in its branches. */
function readBy({ inputs, attributes }: OnnxNode): string[] {
  const branches = Object.values(attributes).flatMap((attribute) =>
    typeof attribute === 'object' && 'branch' in attribute ? attribute.branch.nodes : [],
  );
  return [...inputs, ...branches.flatMap(readBy)];
}

export type { Dim, ElementType, Shape };
