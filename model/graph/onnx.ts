/**
 * A graph as data, and its bytes as an ONNX model file.
 *
 * Only what our graphs use of ONNX: typed inputs and outputs with symbolic dimensions, nodes with numeric or
 * text attributes, and initialisers in the file or in external data given at session creation.
 */
import { bytes, float, integer, message, text } from './wire.ts';

/** A known size, or the name of one that is known when the graph runs. */
export type Dim = number | string;
export type Shape = readonly Dim[];
export type ElementType = 'float32' | 'float64' | 'uint8' | 'int32' | 'int64' | 'bool';
export type Attribute =
  | number
  | string
  | readonly number[]
  | { readonly float: number }
  | { readonly branch: OnnxBranch };

export interface TensorType {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: Shape;
}

export interface OnnxNode {
  readonly op: string;
  /** Its name in a session's options; most need none. */
  readonly name?: string;
  /** Empty for standard ops. */
  readonly domain: string;
  /** An empty name is an omitted input. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: Readonly<Record<string, Attribute>>;
}

/**
 * Nodes that run only if a node that has them as an attribute says so; they read the graph around them.
 */
export interface OnnxBranch {
  readonly outputs: readonly TensorType[];
  readonly nodes: readonly OnnxNode[];
}

/**
 * Bytes (little-endian, row major) in the model file, or at `offset` of the external data called `location`.
 */
export interface Initialiser extends TensorType {
  readonly data:
    | Uint8Array
    | { readonly location: string; readonly offset: number; readonly bytes: number };
}

export interface OnnxGraph {
  readonly inputs: readonly TensorType[];
  readonly outputs: readonly TensorType[];
  readonly initialisers: readonly Initialiser[];
  readonly nodes: readonly OnnxNode[];
}

const IR_VERSION = 10;
const OPSET = 21;
const ELEMENT_CODES = { float32: 1, uint8: 2, int32: 6, int64: 7, bool: 9, float64: 11 } as const;

function attribute(name: string, value: Attribute): Uint8Array {
  if (typeof value === 'number') return message([text(1, name), integer(3, value), integer(20, 2)]);
  if (typeof value === 'string') return message([text(1, name), text(4, value), integer(20, 3)]);
  if ('float' in value) return message([text(1, name), float(2, value.float), integer(20, 1)]);
  if ('branch' in value)
    return message([text(1, name), bytes(6, branch(value.branch)), integer(20, 5)]);
  return message([text(1, name), ...value.map((item) => integer(8, item)), integer(20, 7)]);
}

function branch({ nodes, outputs }: OnnxBranch): Uint8Array {
  return message([
    ...nodes.map((item) => bytes(1, node(item))),
    text(2, 'branch'),
    ...outputs.map((item) => bytes(12, valueInfo(item))),
  ]);
}

function node(value: OnnxNode): Uint8Array {
  return message([
    ...value.inputs.map((name) => text(1, name)),
    ...value.outputs.map((name) => text(2, name)),
    ...(value.name === undefined ? [] : [text(3, value.name)]),
    text(4, value.op),
    ...Object.entries(value.attributes).map(([name, item]) => bytes(5, attribute(name, item))),
    text(7, value.domain),
  ]);
}

function dimension(dim: Dim): Uint8Array {
  return bytes(1, message([typeof dim === 'number' ? integer(1, dim) : text(2, dim)]));
}

function valueInfo({ name, type, shape }: TensorType): Uint8Array {
  const tensor = message([
    integer(1, ELEMENT_CODES[type]),
    bytes(2, message(shape.map(dimension))),
  ]);
  return message([text(1, name), bytes(2, message([bytes(1, tensor)]))]);
}

function entry(key: string, value: string): Uint8Array {
  return bytes(13, message([text(1, key), text(2, value)]));
}

function initialiser({ name, type, shape, data }: Initialiser): Uint8Array {
  const content =
    data instanceof Uint8Array
      ? [bytes(9, data)]
      : [
          entry('location', data.location),
          entry('offset', String(data.offset)),
          entry('length', String(data.bytes)),
          integer(14, 1),
        ];
  const dims = shape.map((dim) => integer(1, Number(dim)));
  return message([...dims, integer(2, ELEMENT_CODES[type]), text(8, name), ...content]);
}

/** The ONNX model file of a graph. */
export function onnxModel(graph: OnnxGraph): Uint8Array {
  const body = message([
    ...graph.nodes.map((item) => bytes(1, node(item))),
    text(2, 'graph'),
    ...graph.initialisers.map((item) => bytes(5, initialiser(item))),
    ...graph.inputs.map((item) => bytes(11, valueInfo(item))),
    ...graph.outputs.map((item) => bytes(12, valueInfo(item))),
  ]);
  const opset = (domain: string, version: number) =>
    bytes(8, message([text(1, domain), integer(2, version)]));
  return message([
    integer(1, IR_VERSION),
    text(2, 'millrace'),
    bytes(7, body),
    opset('', OPSET),
    opset('com.microsoft', 1),
  ]);
}
