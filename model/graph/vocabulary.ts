/**
 * What the head says about given tokens when the vocabulary is too large for a matrix of logits: in chunks.
 *
 * For rows x [M, D], a head [V, D] and targets [M] it gives what `judgeTokens` gives for the logits x head^T,
 * but never holds more than one chunk of logits: each chunk leaves its maximum, sum of exponentials and
 * weighted sum, and the gradient computes the chunk again. M * V numbers would be 1.2 GB for 2,048 tokens of
 * a vocabulary of 150,000.
 */
import type { Dim, Graph, Value } from './graph.ts';
import type { Judged } from './layers.ts';
import { product, weightGradient } from './product.ts';
import { after } from './recompute.ts';

interface Chunk {
  /** First token, and how many. */
  readonly start: number;
  readonly size: number;
}

/** The result of a chunk, each [M, 1]; `picked` is the target's logit if it is in the chunk, otherwise 0. */
interface Trace {
  readonly maximum: Value;
  readonly total: Value;
  readonly weighted: Value;
  readonly picked: Value;
}

/** Log-prob and entropy [M] of `targets` (whole numbers [M]), `chunkTokens` of the vocabulary at a time. */
export function judgeInChunks(x: Value, head: Value, targets: Value, chunkTokens: number): Judged {
  const { graph } = x;
  const rows = x.shape[0] as Dim;
  const chunks = cut(Number(head.shape[0]), chunkTokens);
  const column = unsqueeze(graph, targets, rows);
  const traces = chunks.map((chunk) => trace(x, rowsOf(head, chunk), column, chunk));
  const node = (op: string, ...inputs: Value[]) => graph.node(op, inputs, [rows, 1]);
  const all = (which: keyof Trace) => traces.map((each) => each[which]);
  const maximum = all('maximum').reduce((a, b) => node('Max', a, b));
  const scales = traces.map((each) => node('Exp', node('Sub', each.maximum, maximum)));
  const scaled = (which: 'total' | 'weighted') =>
    all(which)
      .map((value, i) => node('Mul', value, scales[i] as Value))
      .reduce((a, b) => node('Add', a, b));
  const total = scaled('total');
  const logTotal = node('Add', maximum, node('Log', total));
  const picked = all('picked').reduce((a, b) => node('Add', a, b));
  const entropy = node('Sub', logTotal, node('Div', scaled('weighted'), total));
  const logProbs = flat(graph, node('Sub', picked, logTotal), rows);
  const entropies = flat(graph, entropy, rows);

  /** d loss / d logits of a chunk from its logits, with respect to x and head. */
  const pull = (g: Value, slope: (logits: Value, shares: Value, chunk: Chunk) => Value) => {
    let dx: Value | null = null;
    const dHead: Value[] = [];
    let from = after(x, g);
    for (const chunk of chunks) {
      const weight = rowsOf(head, chunk);
      const logits = product(from, weight, { turned: true });
      const shape = logits.shape;
      const shares = graph.node('Exp', [graph.node('Sub', [logits, logTotal], shape)], shape);
      const dLogits = slope(logits, shares, chunk);
      const part = product(dLogits, weight);
      dx = dx === null ? part : graph.node('Add', [dx, part], x.shape);
      const own = weightGradient(dLogits, from);
      dHead.push(own);
      // both are done before the next chunk begins, so only its logits are held
      from = after(x, part, own);
    }
    const attributes = { axis: 0 };
    return [dx, graph.node('Concat', dHead, head.shape, { attributes })];
  };
  graph.derive(logProbs, [x, head], (g) => {
    const up = unsqueeze(graph, g, rows);
    const down = node('Neg', up);
    return pull(g, (_logits, shares, chunk) => {
      const spread = graph.node('Mul', [shares, down], shares.shape);
      const { places, within } = local(column, chunk);
      const added = graph.node('Mul', [within, up], [rows, 1]);
      const options = { attributes: { axis: 1, reduction: 'add' } };
      return graph.node('ScatterElements', [spread, places, added], shares.shape, options);
    });
  });
  graph.derive(entropies, [x, head], (g) => {
    const down = node('Neg', unsqueeze(graph, g, rows));
    return pull(g, (logits, shares) => {
      // dH / dz = -share * (log share + H)
      const level = node('Sub', entropy, logTotal);
      const above = graph.node('Add', [logits, level], shares.shape);
      const slope = graph.node('Mul', [shares, above], shares.shape);
      return graph.node('Mul', [slope, down], shares.shape);
    });
  });
  return { logProbs, entropies };
}

function cut(vocabSize: number, chunkTokens: number): Chunk[] {
  return Array.from({ length: Math.ceil(vocabSize / chunkTokens) }, (_, i) => {
    const start = i * chunkTokens;
    return { start, size: Math.min(chunkTokens, vocabSize - start) };
  });
}

function rowsOf(head: Value, { start, size }: Chunk): Value {
  const { graph } = head;
  const bounds = [[start], [start + size], [0]].map((value) => graph.integers(value));
  return graph.node('Slice', [head, ...bounds], [size, head.shape[1] as Dim]);
}

function trace(x: Value, weight: Value, column: Value, chunk: Chunk): Trace {
  const { graph } = x;
  const rows = x.shape[0] as Dim;
  const logits = product(x, weight, { turned: true });
  const reduce = (op: string, value: Value) =>
    graph.node(op, [value, graph.integers([1])], [rows, 1], { attributes: { keepdims: 1 } });
  const maximum = reduce('ReduceMax', logits);
  const raised = graph.node(
    'Exp',
    [graph.node('Sub', [logits, maximum], logits.shape)],
    logits.shape,
  );
  const { places, within } = local(column, chunk);
  const attributes = { axis: 1 };
  const found = graph.node('GatherElements', [logits, places], [rows, 1], { attributes });
  return {
    maximum,
    total: reduce('ReduceSum', raised),
    weighted: reduce('ReduceSum', graph.node('Mul', [raised, logits], logits.shape)),
    picked: graph.node('Mul', [found, within], [rows, 1]),
  };
}

/** A target's index in the chunk (0 if outside), and 1 if it is inside, otherwise 0: [M, 1] each. */
function local(column: Value, { start, size }: Chunk): { places: Value; within: Value } {
  const { graph, shape } = column;
  const whole = (value: number) =>
    graph.node('Cast', [graph.integers([value])], [1], { type: 'int32', attributes: { to: 6 } });
  const compare = (op: string, value: number) =>
    graph.node(op, [column, whole(value)], shape, { type: 'bool' });
  const inside = graph.node(
    'And',
    [compare('GreaterOrEqual', start), compare('Less', start + size)],
    shape,
  );
  const moved = graph.node('Sub', [column, whole(start)], shape);
  const to = graph.float === 'float32' ? 1 : 11;
  return {
    places: graph.node('Where', [inside, moved, whole(0)], shape, { type: 'int32' }),
    within: graph.node('Cast', [inside], shape, { type: graph.float, attributes: { to } }),
  };
}

function unsqueeze(graph: Graph, value: Value, rows: Dim): Value {
  return graph.node('Unsqueeze', [value, graph.integers([1])], [rows, 1]);
}

function flat(graph: Graph, value: Value, rows: Dim): Value {
  return graph.node('Squeeze', [value, graph.integers([1])], [rows]);
}
