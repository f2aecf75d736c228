/**
 * The training and scoring graphs: decoder, token log-probs, loss and the gradient of every parameter.
 *
 * Outputs: `logProbs` [M] and `entropies` [M] of the targets; a training graph adds `loss` (scalar) and
 * `gradient:<parameter>`. Parameters are fed under their own names.
 */
import { type DecoderConfig, parameterShapes } from '../config.ts';
import { decoderLogits } from '../decoder.ts';
import type { Loss } from '../engine.ts';
import { gradients } from '../graph/gradients.ts';
import { type Float, Graph, type Value } from '../graph/graph.ts';
import { judgeTokens } from '../graph/layers.ts';
import { clippedPolicyLoss, crossEntropy, policyInputs } from './losses.ts';

export const GRADIENT = 'gradient:';

/** The ONNX model that trains with this loss, or only scores. */
export function trainGraph(
  config: DecoderConfig,
  kind: Loss['kind'] | 'score',
  float: Float = 'float32',
): Uint8Array {
  const graph = new Graph(float);
  const parameters = new Map<string, Value>();
  for (const [name, shape] of parameterShapes(config))
    parameters.set(name, graph.input(name, float, shape));
  const logits = decoderLogits(graph, config, parameters);
  const targets = graph.input('targets', 'int32', ['M']);
  const { logProbs, entropies } = judgeTokens(logits, targets);
  graph.output('logProbs', logProbs);
  graph.output('entropies', entropies);
  if (kind !== 'score') {
    const loss =
      kind === 'sft'
        ? crossEntropy(logProbs)
        : clippedPolicyLoss(logProbs, entropies, policyInputs(logProbs));
    graph.output('loss', loss);
    const wanted = [...parameters.values()];
    for (const [index, gradient] of gradients(loss, wanted).entries())
      graph.output(`${GRADIENT}${wanted[index]?.name}`, gradient);
  }
  return graph.model();
}
