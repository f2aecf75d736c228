/**
 * The training and scoring graphs: decoder, token log-probs, loss and the gradient of every trained
 * parameter.
 *
 * Outputs: `logProbs` [M] and `entropies` [M] of the targets; a training graph adds `loss` (scalar),
 * `gradient:<name>` for each trained parameter, and `embeddedGradient` [N, hidden]: what each place of the
 * batch adds to its token's row of the embedding. (Added up outside: a vocabulary is large, and the places
 * that read it are few.) A gradient of the embedding under its own name is that of the tied head. Parameters
 * are fed under their own names.
 */
import { type DecoderConfig, parameterShapes } from '../config.ts';
import { decoder } from '../decoder.ts';
import { gradients } from '../graph/gradients.ts';
import { type Float, Graph, type Value } from '../graph/graph.ts';
import { type Judged, judgeTokens } from '../graph/layers.ts';
import { judgeInChunks } from '../graph/vocabulary.ts';
import { adapterNames, sequenceLowering } from '../lowering/sequences.ts';

export const GRADIENT = 'gradient:';
export const EMBEDDED_GRADIENT = 'embeddedGradient';
export const EMBEDDING = 'model.embed_tokens.weight';

/** What a graph is for: to train with the loss that this makes of a micro-batch's targets, or to score. */
export type Purpose = ((judged: Judged) => Value) | 'score';

/** Low-rank adapters: per module the rank and what their product is multiplied with. */
export type AdapterShapes = ReadonlyMap<string, { readonly rank: number; readonly scale: number }>;

export interface TrainGraphOptions {
  readonly float?: Float;
  /** Threads of the CPU; the same bits come out on fewer. Left out on other devices. */
  readonly threads?: number;
  /** Keep only the input of each layer; see graph/recompute.ts. */
  readonly recompute?: boolean;
  /** Tokens of the vocabulary whose logits are held at once; a smaller vocabulary is not cut. */
  readonly vocabularyChunk?: number;
  /** For rows that hold several sequences. */
  readonly packed?: boolean;
  /** Train only these; the policy's own parameters are constants. */
  readonly adapters?: AdapterShapes;
}

/** A matrix of logits wider than this is not made unless requested. */
export const VOCABULARY_CHUNK = 8192;

/** Shapes of the adapters' factors by name. */
export function adapterParameters(
  config: DecoderConfig,
  adapters: AdapterShapes,
): ReadonlyMap<string, readonly number[]> {
  const shapes = parameterShapes(config);
  const found = new Map<string, readonly number[]>();
  for (const [module, { rank }] of adapters) {
    const shape = shapes.get(`${module}.weight`);
    if (shape?.length !== 2)
      throw new Error(`the policy has no linear layer '${module}' for an adapter to change`);
    const [down, up] = adapterNames(module);
    found.set(down, [rank, shape[1] as number]);
    found.set(up, [shape[0] as number, rank]);
  }
  return found;
}

/** The ONNX model that trains with this loss, or only scores. */
export function trainGraph(
  config: DecoderConfig,
  purpose: Purpose,
  options: TrainGraphOptions = {},
): Uint8Array {
  const { float = 'float32', adapters, recompute = false } = options;
  const graph = new Graph(float, options.threads ?? null);
  const inputs = (shapes: ReadonlyMap<string, readonly number[]>) =>
    [...shapes].map(([name, shape]): [string, Value] => [name, graph.input(name, float, shape)]);
  const own = inputs(parameterShapes(config));
  const added = adapters === undefined ? [] : inputs(adapterParameters(config, adapters));
  const parameters = new Map([...own, ...added]);
  const sequences = sequenceLowering(graph, config, parameters, {
    recompute: recompute && purpose !== 'score',
    packed: options.packed ?? false,
    ...(adapters === undefined ? {} : { adapters }),
  });
  const targets = graph.input('targets', 'int32', ['M']);
  const judged = decoder<Judged>(config, {
    ...sequences,
    head: (x, weight) => {
      const chunk = options.vocabularyChunk ?? VOCABULARY_CHUNK;
      return config.vocabSize > chunk
        ? judgeInChunks(x, parameters.get(weight) as Value, targets, chunk)
        : judgeTokens(sequences.head(x, weight), targets);
    },
  });
  graph.output('logProbs', judged.logProbs);
  graph.output('entropies', judged.entropies);
  if (purpose === 'score') return graph.model();
  const loss = purpose(judged);
  graph.output('loss', loss);
  const trained = new Map(added.length > 0 ? added : own);
  if (!config.tiedEmbeddings) trained.delete(EMBEDDING);
  const wanted = [...trained.values()];
  const embedded = added.length > 0 ? [] : [sequences.embedded];
  const found = gradients(loss, [...wanted, ...embedded]);
  for (const [index, value] of wanted.entries())
    graph.output(`${GRADIENT}${value.name}`, found[index] as Value);
  if (embedded.length > 0) graph.output(EMBEDDED_GRADIENT, found.at(-1) as Value);
  return graph.model();
}
