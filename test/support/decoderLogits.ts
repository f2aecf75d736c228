/** The network over whole sequences, as training differentiates it, up to its logits. */
import type { DecoderConfig } from '../../model/config.ts';
import { decoder } from '../../model/decoder.ts';
import type { Graph, Value } from '../../model/graph/graph.ts';
import { sequenceLowering } from '../../model/lowering/sequences.ts';

/** Next-token logits [M, V] of a graph with the inputs of `sequenceLowering`. */
export function decoderLogits(
  graph: Graph,
  config: DecoderConfig,
  parameters: ReadonlyMap<string, Value>,
): Value {
  return decoder(config, sequenceLowering(graph, config, parameters));
}
