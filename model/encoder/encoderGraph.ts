/** A BERT-like encoder as a graph: tokens in, the last layer's vector of each token out. */
import { Graph, type Value } from '../graph/graph.ts';
import { attention, linear } from '../graph/layers.ts';
import { add, reshape, transpose } from '../graph/ops.ts';
import { type EncoderConfig, encoderShapes } from './encoderConfig.ts';

/** The graph's name for the block of its weights. */
export const BLOCK = 'block';

/** Where each parameter is in the block, as an index of numbers. */
export function blockOf(config: EncoderConfig): {
  places: ReadonlyMap<string, number>;
  length: number;
} {
  const places = new Map<string, number>();
  let length = 0;
  for (const [name, shape] of encoderShapes(config)) {
    places.set(name, length);
    length += shape.reduce((product, size) => product * size, 1);
  }
  return { places, length };
}

/**
 * Inputs: `tokens` and `places` int32 [B, T], the rows of words and of positions; `mask` float32 [B, 1, 1,
 * T], 0 where there is a token and -Infinity where there is padding. Output: `hidden` [B, T, hiddenSize].
 */
export function encoderGraph(config: EncoderConfig): Uint8Array {
  const { hiddenSize, heads, layers } = config;
  const graph = new Graph('float32');
  const shapes = encoderShapes(config);
  const { places } = blockOf(config);
  const parameter = (name: string): Value => {
    const shape = shapes.get(name) as readonly number[];
    const bytes = 4 * shape.reduce((product, size) => product * size, 1);
    const offset = 4 * (places.get(name) as number);
    return graph.initialiser(name, 'float32', shape, { location: BLOCK, offset, bytes });
  };
  const tokens = graph.input('tokens', 'int32', ['B', 'T']);
  const positions = graph.input('places', 'int32', ['B', 'T']);
  const mask = graph.input('mask', 'float32', ['B', 1, 1, 'T']);
  const norm = (x: Value, name: string): Value =>
    graph.node(
      'LayerNormalization',
      [x, parameter(`${name}.weight`), parameter(`${name}.bias`)],
      x.shape,
      { attributes: { axis: -1, epsilon: { float: config.normEps } } },
    );
  const dense = (x: Value, name: string): Value =>
    linear(x, parameter(`${name}.weight`), parameter(`${name}.bias`));
  const rows = (table: string, at: Value): Value =>
    graph.node('Gather', [parameter(table), reshape(at, ['N'])], ['N', hiddenSize]);
  const byHead = (x: Value): Value =>
    transpose(reshape(x, ['B', 'T', heads, hiddenSize / heads]), [0, 2, 1, 3]);
  const embedded = add(
    rows('embeddings.word_embeddings.weight', tokens),
    rows('embeddings.position_embeddings.weight', positions),
  );
  let x = norm(embedded, 'embeddings.LayerNorm');
  for (let index = 0; index < layers; index++) {
    const at = `encoder.layer.${index}`;
    const [queries, keys, values] = ['query', 'key', 'value'].map((name) =>
      byHead(dense(x, `${at}.attention.self.${name}`)),
    ) as [Value, Value, Value];
    const mixed = transpose(attention(queries, keys, values, mask), [0, 2, 1, 3]);
    const seen = dense(reshape(mixed, ['N', hiddenSize]), `${at}.attention.output.dense`);
    x = norm(add(seen, x), `${at}.attention.output.LayerNorm`);
    const inner = activated(dense(x, `${at}.intermediate.dense`), config);
    x = norm(add(dense(inner, `${at}.output.dense`), x), `${at}.output.LayerNorm`);
  }
  graph.output('hidden', reshape(x, ['B', 'T', hiddenSize]));
  return graph.model();
}

function activated(x: Value, { activation }: EncoderConfig): Value {
  const { graph, shape } = x;
  if (activation === 'relu') return graph.node('Relu', [x], shape);
  const attributes = activation === 'geluTanh' ? { approximate: 'tanh' } : {};
  return graph.node('Gelu', [x], shape, { attributes });
}
